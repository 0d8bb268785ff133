#include "reports/samples.h"

#include <map>
#include <string>

#include "fixtures/shard.h"
#include "reports/evidence.h"

namespace detcheck {
namespace {

// Nothing can be compared with an error, or with an answer that was cut off before its first token.
bool IsSample(const Completion& completion) {
  if (completion.finish_reason == FinishReason::kError) return false;
  return completion.finish_reason != FinishReason::kAbort || NumTokens(completion) > 0;
}

}  // namespace

bool Sample::ReadCache() const {
  if (answer->witness.cached_tokens) return *answer->witness.cached_tokens > 0;
  return step->cache == CacheState::kWarm || step->cache == CacheState::kShared;
}

const std::string& Sample::PromptDigest() const {
  static const std::string kNone;
  const auto item_idx = static_cast<size_t>(ref.item);
  return item_idx < record->prompt_digests.size() ? record->prompt_digests[item_idx] : kNone;
}

std::vector<RequestSamples> CollectSamples(const Plan& plan, const Transcript& transcript,
                                           Mode mode, std::optional<int> replica) {
  std::map<int, RequestSamples> by_request;
  for (const int step_idx : StepsToRun(plan)) {
    const Step& step = plan.steps[step_idx];
    if (step.mode != mode || !IsJudged(step)) continue;
    for (const PlannedItem& item : step.items) {
      RequestSamples& samples = by_request[item.request];
      samples.request = item.request;
      samples.subject = samples.subject || item.subject;
    }
  }
  for (size_t r = 0; r < transcript.records.size(); ++r) {
    const StepRecord& record = transcript.records[r];
    if (record.replica != replica.value_or(record.replica)) continue;
    if (record.step < 0 || record.step >= static_cast<int>(plan.steps.size())) continue;
    const Step& step = plan.steps[record.step];
    if (step.mode != mode || !IsJudged(step)) continue;
    const bool counts = Counts(step, record);
    const size_t num_items = std::min(step.items.size(), record.completions.size());
    for (size_t i = 0; i < num_items; ++i) {
      if (!IsSample(record.completions[i])) continue;
      Sample sample{{static_cast<int>(r), static_cast<int>(i)},
                    &record,
                    &step,
                    &step.items[i],
                    &record.completions[i],
                    counts};
      by_request[step.items[i].request].samples.push_back(sample);
    }
  }
  std::vector<RequestSamples> all;
  for (auto& [request, samples] : by_request) all.push_back(std::move(samples));
  return all;
}

}  // namespace detcheck
