#pragma once

#include <string>
#include <vector>

#include "fixtures/plan.h"
#include "reports/judgement.h"
#include "reports/transcript.h"

namespace detcheck {

/// An answer of these tokens that ran to its limit, with the logprob -0.5 for each token and one
/// candidate more (token 900, one nat below). Witnessed by the engine as alone and cold.
Completion Says(const std::vector<TokenId>& ids);

/// The same without logprobs.
Completion SaysOnly(const std::vector<TokenId>& ids);

/// `answer` with another logprob of the token at `position`.
Completion WithLogprob(Completion answer, int position, double logprob);

/// `answer` cut off by an abort after its first `num_tokens` tokens.
Completion Aborted(Completion answer, int num_tokens);

/// `answer` that took `num_tokens` prompt tokens from the cache.
Completion Cached(Completion answer, int num_tokens);

/// What an item that failed gives.
Completion Broken(const std::string& error);

/// Makes a plan and its transcript together, one step with its attempt at a time.
class RunBuilder {
 public:
  /// Of mode `single`, with the one request "q01" of 12 prompt tokens.
  RunBuilder();

  /// A further request of 12 other prompt tokens; returns its index.
  int AddRequest(const std::string& id);

  void BeginMode(Mode mode);

  /// One item of request 0, alone; cold ones must show that nothing was cached.
  RunBuilder& Solo(Arm arm, Completion answer, CacheState cache = CacheState::kCold);
  /// `times` of them.
  RunBuilder& Solos(int times, Arm arm, const Completion& answer,
                    CacheState cache = CacheState::kCold);

  /// A varied step of request 0, one item per answer, "batch of N". Must form whole; the answers
  /// are witnessed to have.
  RunBuilder& Batch(std::vector<Completion> answers);

  /// A step and its attempt, as they are.
  RunBuilder& Add(Step step, StepRecord record);

  /// A step of this shape without any attempt.
  Step BatchOf(int size) const;

  Plan& plan() { return plan_; }
  const Plan& plan() const { return plan_; }
  Transcript& transcript() { return transcript_; }
  const Transcript& transcript() const { return transcript_; }
  Step& LastStep() { return plan_.steps.back(); }
  StepRecord& LastRecord() { return transcript_.records.back(); }

  Judgement Judge() const { return detcheck::Judge(plan_, transcript_); }
  /// Judgement of request 0 in the first mode.
  RequestJudgement JudgeFirst() const { return Judge().modes.at(0).requests.at(0); }

 private:
  Plan plan_;
  Transcript transcript_;
  Mode mode_ = Mode::kSingle;
};

/// The control arm of five equal samples and three batches of 2, 4 and 8 of the same answer.
RunBuilder SteadyRun(const Completion& answer);

}  // namespace detcheck
