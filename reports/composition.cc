#include "reports/composition.h"

#include <fmt/format.h>

#include <iterator>
#include <set>

#include "reports/evidence.h"

namespace detcheck {
namespace {

bool IsCountedBatch(const Plan& plan, const StepRecord& record, Mode mode) {
  if (record.step < 0 || record.step >= static_cast<int>(plan.steps.size())) return false;
  const Step& step = plan.steps[record.step];
  return step.mode == mode && IsJudged(step) && Counts(step, record);
}

}  // namespace

std::string CompositionKey(const Plan& plan, const StepRecord& record) {
  const Step& step = plan.steps[record.step];
  std::string key;
  const auto out = std::back_inserter(key);
  for (const PlannedItem& item : step.items) {
    fmt::format_to(out, "{}/{};", item.request, item.top_logprobs.value_or(-1));
  }
  if (!record.engine_steps.empty()) {
    // What ran before is not seen in the steps.
    for (const Axis& axis : step.axes) {
      if (axis.name == "history") fmt::format_to(out, "|after {}", axis.value);
    }
    for (const EngineStepSpan& span : record.engine_steps) {
      fmt::format_to(out, "|{}x{}", span.first_step, span.num_steps);
      for (const EngineStepSpan::Row& row : span.rows) {
        fmt::format_to(out, ",{}:{}{}", row.item, row.num_tokens, row.decode ? "d" : "p");
      }
    }
    return key;
  }
  fmt::format_to(out, "|{}", static_cast<int>(step.cache));
  for (const PlannedItem& item : step.items) {
    fmt::format_to(out, "|{}:{}:{}:{}:{}", static_cast<int>(item.release.kind), item.release.item,
                   item.release.count, item.abort_after_tokens.value_or(-1),
                   static_cast<int>(item.cache));
  }
  // A cache that holds more or less makes another batch of the same items.
  for (const Axis& axis : step.axes) fmt::format_to(out, "|{}={}", axis.name, axis.value);
  return key;
}

int CountDistinctBatches(const Plan& plan, const Transcript& transcript, Mode mode) {
  std::set<std::string> keys;
  for (const StepRecord& record : transcript.records) {
    if (IsCountedBatch(plan, record, mode)) keys.insert(CompositionKey(plan, record));
  }
  return static_cast<int>(keys.size());
}

std::vector<int> FormedSizes(const Plan& plan, const Transcript& transcript, Mode mode) {
  std::set<int> sizes;
  for (const StepRecord& record : transcript.records) {
    if (!IsCountedBatch(plan, record, mode)) continue;
    const Step& step = plan.steps[record.step];
    for (size_t i = 0; i < step.items.size(); ++i) {
      const Witness& witness = record.completions[i].witness;
      if (step.items[i].subject && witness.formed_size) sizes.insert(*witness.formed_size);
    }
  }
  return {sizes.begin(), sizes.end()};
}

}  // namespace detcheck
