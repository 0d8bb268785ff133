#include "cli/prompts.h"

#include <fmt/format.h>

#include <variant>

#include "engine/base/error.h"

namespace detcheck {

PromptResolver::PromptResolver(const Plan& plan, const Transcript& transcript)
    : plan_(plan), transcript_(transcript), counted_(plan.steps.size(), -1) {}

void PromptResolver::NoteRecord(int record_idx) {
  const StepRecord& record = transcript_.records[record_idx];
  int& counted = counted_[record.step];
  if (counted < 0 && !record.voided) counted = record_idx;
}

std::vector<TokenId> PromptResolver::Resolve(const PlannedRequest& request) const {
  std::vector<TokenId> ids;
  for (const PromptPart& part : request.prompt) {
    std::visit([&](const auto& slice) { Append(slice, &ids); }, part);
  }
  return ids;
}

void PromptResolver::Append(const PromptSlice& slice, std::vector<TokenId>* ids) const {
  const std::vector<TokenId>& from = plan_.prompts[slice.prompt].ids;
  ids->insert(ids->end(), from.begin() + slice.begin, from.begin() + slice.end);
}

void PromptResolver::Append(const AnswerSlice& slice, std::vector<TokenId>* ids) const {
  const int record = counted_[slice.step];
  if (record < 0) {
    throw Error(
        ErrorCode::kUnsupported,
        fmt::format("its prompt needs the answer of step {}, which never succeeded", slice.step));
  }
  const Completion& answer = transcript_.records[record].completions[slice.item];
  if (answer.completion_tokens) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("its prompt needs the token IDs of step {}, item {}, and the target "
                            "returns none (ids_out)",
                            slice.step, slice.item));
  }
  const std::vector<TokenId>& from = answer.token_ids;
  if (slice.end > static_cast<int>(from.size())) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("its prompt needs {} tokens of step {}, item {}, which gave {}",
                            slice.end, slice.step, slice.item, from.size()));
  }
  ids->insert(ids->end(), from.begin() + slice.begin, from.begin() + slice.end);
}

}  // namespace detcheck
