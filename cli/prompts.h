#pragma once

#include <vector>

#include "engine/base/request.h"
#include "fixtures/plan.h"
#include "reports/transcript.h"

namespace detcheck {

/// Turns the prompt expressions of a plan into token IDs. A slice of an earlier answer is taken
/// from the first attempt at that step that counts, so that retries cannot change later prompts.
class PromptResolver {
 public:
  /// Both must outlive the resolver; records may be appended to the transcript meanwhile.
  PromptResolver(const Plan& plan, const Transcript& transcript);

  /// Must be called with each record that is appended, and once with each that is there already.
  void NoteRecord(int record_idx);

  /// Throws Error(kUnsupported) where an answer that the prompt needs was never given or is too
  /// short.
  std::vector<TokenId> Resolve(const PlannedRequest& request) const;

 private:
  void Append(const PromptSlice& slice, std::vector<TokenId>* ids) const;
  void Append(const AnswerSlice& slice, std::vector<TokenId>* ids) const;

  const Plan& plan_;
  const Transcript& transcript_;
  std::vector<int> counted_;  // by step: the record of its first counted attempt, or -1
};

}  // namespace detcheck
