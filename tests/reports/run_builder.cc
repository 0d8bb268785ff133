#include "tests/reports/run_builder.h"

#include <utility>

#include "fixtures/fixture.h"

namespace detcheck {

Completion SaysOnly(const std::vector<TokenId>& ids) {
  Completion answer;
  answer.token_ids = ids;
  answer.prompt_tokens = 12;
  answer.witness.source = WitnessSource::kEngine;
  answer.witness.formed_size = 1;
  answer.witness.cached_tokens = 0;
  return answer;
}

Completion Says(const std::vector<TokenId>& ids) {
  Completion answer = SaysOnly(ids);
  for (const TokenId id : ids) answer.logprobs.push_back({-0.5, {{id, -0.5}, {900, -1.5}}});
  return answer;
}

Completion WithLogprob(Completion answer, int position, double logprob) {
  answer.logprobs[position].logprob = logprob;
  answer.logprobs[position].top[0].logprob = logprob;
  return answer;
}

Completion Aborted(Completion answer, int num_tokens) {
  answer.token_ids.resize(num_tokens);
  if (!answer.logprobs.empty()) answer.logprobs.resize(num_tokens);
  answer.finish_reason = FinishReason::kAbort;
  return answer;
}

Completion Cached(Completion answer, int num_tokens) {
  answer.witness.cached_tokens = num_tokens;
  return answer;
}

Completion Broken(const std::string& error) {
  Completion answer;
  answer.finish_reason = FinishReason::kError;
  answer.error = error;
  return answer;
}

RunBuilder::RunBuilder() {
  plan_.vocab_size = 1000;
  transcript_.complete = true;
  BeginMode(Mode::kSingle);
  AddRequest("q01");
}

int RunBuilder::AddRequest(const std::string& id) {
  const int index = static_cast<int>(plan_.requests.size());
  PlanPrompt prompt;
  prompt.source = id;
  for (int i = 0; i < 12; ++i) prompt.ids.push_back(100 * index + i);
  plan_.prompts.push_back(prompt);
  PlannedRequest request;
  request.id = id;
  request.prompt = {PromptSlice{index, 0, 12}};
  request.max_new_tokens = 8;
  plan_.requests.push_back(request);
  return index;
}

void RunBuilder::BeginMode(Mode mode) {
  if (mode != mode_) mode_ = mode;
  plan_.modes.push_back(mode);
}

Step RunBuilder::BatchOf(int size) const {
  Step step;
  step.mode = mode_;
  step.label = "batch of " + std::to_string(size);
  PlannedItem item;
  item.top_logprobs = 2;
  step.items.assign(size, item);
  step.axes = {{"batch_size", size}};
  step.evidence.min_formed_size = size;
  return step;
}

RunBuilder& RunBuilder::Add(Step step, StepRecord record) {
  record.step = static_cast<int>(plan_.steps.size());
  if (record.prompt_digests.empty()) {
    for (const PlannedItem& item : step.items) {
      record.prompt_digests.push_back(PromptDigest(plan_.prompts[item.request].ids));
    }
  }
  plan_.steps.push_back(std::move(step));
  transcript_.records.push_back(std::move(record));
  return *this;
}

RunBuilder& RunBuilder::Solo(Arm arm, Completion answer, CacheState cache) {
  Step step = BatchOf(1);
  step.arm = arm;
  step.label = "alone";
  step.cache = cache;
  if (cache == CacheState::kCold) step.evidence.max_cached_tokens = 0;
  StepRecord record;
  record.completions.push_back(std::move(answer));
  return Add(std::move(step), std::move(record));
}

RunBuilder& RunBuilder::Solos(int times, Arm arm, const Completion& answer, CacheState cache) {
  for (int i = 0; i < times; ++i) Solo(arm, answer, cache);
  return *this;
}

RunBuilder& RunBuilder::Batch(std::vector<Completion> answers) {
  const int size = static_cast<int>(answers.size());
  StepRecord record;
  for (Completion& answer : answers) {
    answer.witness.formed_size = size;
    record.completions.push_back(std::move(answer));
  }
  return Add(BatchOf(size), std::move(record));
}

RunBuilder SteadyRun(const Completion& answer) {
  RunBuilder run;
  run.Solos(5, Arm::kControlCold, answer);
  for (const int size : {2, 4, 8}) run.Batch(std::vector<Completion>(size, answer));
  return run;
}

}  // namespace detcheck
