#include "cli/step_voids.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/evidence.h"

namespace detcheck {
namespace {

std::optional<std::string> WhyVoidItem(int item, const PlannedItem& planned,
                                       const Completion& completion) {
  if (completion.finish_reason == FinishReason::kError) {
    return fmt::format("item {} failed: {}", item, completion.error);
  }
  if (WasCutOff(planned, completion)) {
    return fmt::format("item {} was cancelled by the target", item);
  }
  return std::nullopt;
}

}  // namespace

bool WasCutOff(const PlannedItem& planned, const Completion& completion) {
  if (completion.finish_reason != FinishReason::kAbort) return false;
  return !planned.abort_after_tokens || NumTokens(completion) < *planned.abort_after_tokens;
}

std::optional<std::string> WhyVoid(const Step& step, const StepRecord& record) {
  const size_t num_answers = std::min(step.items.size(), record.completions.size());
  for (size_t i = 0; i < num_answers; ++i) {
    auto why = WhyVoidItem(static_cast<int>(i), step.items[i], record.completions[i]);
    if (why) return why;
  }
  return MissedEvidence(step, record);
}

}  // namespace detcheck
