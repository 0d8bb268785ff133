#pragma once

#include <optional>
#include <vector>

#include "fixtures/plan.h"
#include "reports/judgement.h"
#include "reports/transcript.h"

namespace detcheck {

/// One answer in its setting. Points into the plan and the transcript, which must outlive it.
struct Sample {
  SampleRef ref;
  const StepRecord* record = nullptr;
  const Step* step = nullptr;
  const PlannedItem* item = nullptr;
  const Completion* answer = nullptr;
  bool counts = false;  ///< Its attempt is whole (reports/evidence.h).

  /// Only the beginning of an answer: compared as a prefix.
  bool IsPrefix() const { return answer->finish_reason == FinishReason::kAbort; }
  /// A logprob for each token ID.
  bool HasTrace() const {
    return !answer->logprobs.empty() && answer->logprobs.size() == answer->token_ids.size();
  }
  /// Alone on the target.
  bool IsSolo() const { return step->items.size() == 1; }
  /// Took prompt tokens from the prefix cache, or was meant to where the target does not tell.
  bool ReadCache() const;
  bool IsControl() const {
    return step->arm == Arm::kControlCold || step->arm == Arm::kControlWarm ||
           step->arm == Arm::kRecheck;
  }
  /// Digest of the prompt as resolved; empty where the record has none.
  const std::string& PromptDigest() const;
};

/// All samples of one planned request in one mode, in transcript order.
struct RequestSamples {
  int request = 0;
  bool subject = false;  ///< In some step of the mode.
  std::vector<Sample> samples;
};

/// Of every request of the mode's batch steps but preparations, by request index. With `replica`
/// only what that one answered.
std::vector<RequestSamples> CollectSamples(const Plan& plan, const Transcript& transcript,
                                           Mode mode, std::optional<int> replica = std::nullopt);

}  // namespace detcheck
