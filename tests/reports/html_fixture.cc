#include "tests/reports/html_fixture.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/reports/rich_report.h"
#include "tests/reports/run_builder.h"

namespace detcheck {
namespace {

constexpr int kBatchSize = 50;

std::vector<TokenId> Counting(int num_tokens) {
  std::vector<TokenId> ids(num_tokens);
  std::iota(ids.begin(), ids.end(), 1);
  return ids;
}

// From `position` on other tokens; the logprobs drift from `drift` on.
Completion Leaving(const Completion& answer, int position, int drift) {
  Completion other = answer;
  for (int i = drift; i < std::ssize(other.logprobs); ++i) {
    other.logprobs[i].logprob -= 1e-6 * (i - drift + 1) * (i - drift + 1);
    other.logprobs[i].top[0].logprob = other.logprobs[i].logprob;
  }
  for (int i = position; i < std::ssize(other.token_ids); ++i) {
    other.token_ids[i] += 500;
    if (other.logprobs.empty()) continue;
    std::vector<TokenCandidate>& top = other.logprobs[i].top;
    top[1] = {top[0].id, top[0].logprob - 0.03125};
    top[0].id = other.token_ids[i];
  }
  return other;
}

// Two engine steps that prefill every item, in two chunks, then one for each further token.
std::vector<EngineStepSpan> StepsOf(const RunBuilder& run, int num_items, int num_tokens) {
  constexpr int kFirstChunk = 8;
  EngineStepSpan first{0, 1, {}};
  EngineStepSpan last{1, 1, {}};
  EngineStepSpan decode{2, num_tokens - 1, {}};
  for (int item = 0; item < num_items; ++item) {
    first.rows.push_back({item, kFirstChunk, false});
    last.rows.push_back({item, PromptLen(run.plan().requests[0]) - kFirstChunk, false});
    decode.rows.push_back({item, 1, true});
  }
  return {first, last, decode};
}

void AddBatch(const std::vector<Completion>& answers, RunBuilder* run) {
  run->Batch(answers);
  const auto num_tokens = static_cast<int>(answers.front().token_ids.size());
  run->LastRecord().engine_steps = StepsOf(*run, static_cast<int>(answers.size()), num_tokens);
}

Completion WithoutLogprobs(Completion answer) {
  answer.logprobs.clear();
  return answer;
}

}  // namespace

Report DivergingReport() {
  Completion answer = Says(Counting(24));
  answer.text = "The quick brown fox jumps over the lazy dog";
  Completion other = Leaving(answer, 9, 4);
  other.text = "The quick brown hare jumps over the lazy dog";
  RunBuilder run;
  for (int i = 0; i < 5; ++i) {
    run.Solo(Arm::kControlCold, answer);
    run.LastRecord().engine_steps = StepsOf(run, 1, 24);
  }
  AddBatch(std::vector<Completion>(4, answer), &run);
  AddBatch(std::vector<Completion>(8, Leaving(answer, 24, 17)), &run);
  std::vector<Completion> answers(16, answer);
  std::fill(answers.begin() + 8, answers.end(), other);
  AddBatch(answers, &run);
  AddBatch(std::vector<Completion>(2, WithoutLogprobs(answer)), &run);
  AddBatch({answer, Aborted(answer, 6)}, &run);
  run.LastStep().items[1].abort_after_tokens = 6;
  return ReportOf(run);
}

Report HostileReport() {
  const std::string script = "</script><script>window.executed = true</script>";
  const std::string image = "<img src=x onerror=\"window.executed = true\">";
  const std::string attribute = "\" onfocus=\"window.executed = true\" autofocus x=\"";
  Completion answer = Says({1, 2, 3, 4});
  answer.text = "same " + script + image + "<!--";
  Completion other = WithLogprob(Says({1, 2, 9, 4}), 1, -0.25);
  other.text = "same " + image + script + "{{script}}";
  RunBuilder run = SteadyRun(answer);
  run.Batch({answer, other});
  run.LastStep().label = "batch " + script + attribute;
  run.Batch({answer, Broken(script + image)});
  run.plan().requests[0].id = "q01 " + image + attribute;
  run.plan().not_tested = {image, attribute};
  run.plan().unplanned.push_back({Mode::kRadixCache, script});
  Report report = ReportOf(run);
  report.subject.push_back({"engine.version", image, FieldSource::kClaimed});
  report.subject.push_back({attribute, script, FieldSource::kDeclared});
  report.harness.push_back({"arguments", "single " + script, FieldSource::kObserved});
  report.run.started_utc = script;
  return report;
}

Report LargeReport(int num_samples) {
  const Completion answer = Says(Counting(128));
  const Completion early = Leaving(answer, 17, 3);
  const Completion late = Leaving(answer, 90, 60);
  RunBuilder run;
  run.Solos(5, Arm::kControlCold, answer);
  for (int first = 0; first < num_samples; first += kBatchSize) {
    std::vector<Completion> answers(kBatchSize, first % 3 == 0 ? answer : early);
    if (first == num_samples / 2 / kBatchSize * kBatchSize) answers[kBatchSize - 1] = late;
    AddBatch(answers, &run);
  }
  return ReportOf(run);
}

Report ManyOutputsReport(int num_outputs) {
  Completion answer = Says(Counting(500));
  for (TokenLogprob& position : answer.logprobs) {
    for (const TokenId id : {901, 902, 903}) position.top.push_back({id, -2.0});
  }
  RunBuilder run;
  run.Solos(5, Arm::kControlCold, answer);
  for (int first = 0; first < num_outputs; first += kBatchSize) {
    std::vector<Completion> answers;
    for (int i = first; i < first + kBatchSize; ++i) {
      answers.push_back(Leaving(answer, i % 450, i % 400));
      answers.back().token_ids.back() = 1000 + i;
    }
    AddBatch(answers, &run);
  }
  return ReportOf(run);
}

}  // namespace detcheck
