#include "cli/outcome.h"

#include <gtest/gtest.h>

namespace detcheck {
namespace {

ModeJudgement Of(Mode mode, Verdict verdict, std::vector<std::string> reasons = {"because"}) {
  ModeJudgement judgement;
  judgement.mode = mode;
  judgement.verdict = verdict;
  if (verdict != Verdict::kPass) judgement.reasons = std::move(reasons);
  return judgement;
}

Judgement Judged(std::vector<ModeJudgement> modes) {
  Judgement judgement;
  judgement.modes = std::move(modes);
  return judgement;
}

ExitStatus Outcome(const Judgement& judgement,
                   const std::vector<AllowedInconclusive>& allowed = {}) {
  return OutcomeOf(judgement, RunEnd::kComplete, allowed);
}

TEST(Outcome, OneOverFourOverThreeOverZero) {
  const ModeJudgement pass = Of(Mode::kSingle, Verdict::kPass);
  const ModeJudgement fail = Of(Mode::kBatch, Verdict::kFail);
  const ModeJudgement error = Of(Mode::kMixed, Verdict::kError);
  const ModeJudgement inconclusive = Of(Mode::kPrefix, Verdict::kInconclusive);
  EXPECT_EQ(Outcome(Judged({pass})), ExitStatus::kPass);
  EXPECT_EQ(Outcome(Judged({pass, inconclusive})), ExitStatus::kInconclusive);
  EXPECT_EQ(Outcome(Judged({inconclusive, error, pass})), ExitStatus::kUnfinished);
  EXPECT_EQ(Outcome(Judged({error, fail, inconclusive})), ExitStatus::kDivergence);
}

TEST(Outcome, NothingRunIsInconclusive) {
  EXPECT_EQ(Outcome(Judged({})), ExitStatus::kInconclusive);
  EXPECT_EQ(Outcome(Judged({Of(Mode::kRadixCache, Verdict::kUnsupported)})),
            ExitStatus::kInconclusive);
}

TEST(Outcome, OnlyModesThatDecideCount) {
  for (const Verdict verdict : {Verdict::kUnsupported, Verdict::kFail, Verdict::kInconclusive}) {
    Judgement judgement = Judged({Of(Mode::kSingle, Verdict::kPass), Of(Mode::kPvsD, verdict)});
    EXPECT_EQ(Outcome(judgement), static_cast<ExitStatus>(ExitCode(verdict)));
    judgement.modes[1].decides = false;
    EXPECT_EQ(Outcome(judgement), ExitStatus::kPass);
    judgement.modes[0].decides = false;
    EXPECT_EQ(Outcome(judgement), ExitStatus::kInconclusive);
  }
}

TEST(Outcome, AllowedReasonsDoNotCount) {
  const Judgement judgement =
      Judged({Of(Mode::kSingle, Verdict::kPass),
              Of(Mode::kBatch, Verdict::kInconclusive, {"step 3: formed size 7 of 8"})});
  EXPECT_EQ(Outcome(judgement, {{Mode::kBatch, "formed size"}}), ExitStatus::kPass);
  EXPECT_EQ(Outcome(judgement, {{Mode::kBatch, "flush"}}), ExitStatus::kInconclusive);
  EXPECT_EQ(Outcome(judgement, {{Mode::kMixed, "formed size"}}), ExitStatus::kInconclusive);
}

TEST(Outcome, EveryReasonMustBeAllowedAndAFailureNeverIs) {
  const Judgement two_reasons =
      Judged({Of(Mode::kBatch, Verdict::kInconclusive, {"formed size 7 of 8", "no sample"})});
  EXPECT_EQ(Outcome(two_reasons, {{Mode::kBatch, "formed size"}}), ExitStatus::kInconclusive);
  const Judgement failure = Judged({Of(Mode::kBatch, Verdict::kFail, {"diverged"})});
  EXPECT_EQ(Outcome(failure, {{Mode::kBatch, "diverged"}}), ExitStatus::kDivergence);
}

TEST(Outcome, WhatHasNoReasonIsNotAllowed) {
  const Judgement judgement = Judged({Of(Mode::kSeeds, Verdict::kInconclusive, {})});
  EXPECT_EQ(Outcome(judgement), ExitStatus::kInconclusive);
  EXPECT_EQ(Outcome(judgement, {{Mode::kSeeds, "entropy"}}), ExitStatus::kInconclusive);
}

TEST(Outcome, WhatBearsOnTheWholeRunCounts) {
  Judgement judgement = Judged({Of(Mode::kSingle, Verdict::kPass)});
  judgement.reasons = {"the target is not what it was when the run began"};
  EXPECT_EQ(Outcome(judgement), ExitStatus::kInconclusive);
}

TEST(Outcome, HowTheRunEnded) {
  const Judgement pass = Judged({Of(Mode::kSingle, Verdict::kPass)});
  const Judgement fail = Judged({Of(Mode::kSingle, Verdict::kFail)});
  EXPECT_EQ(OutcomeOf(fail, RunEnd::kInterrupted, {}), ExitStatus::kInterrupted);
  EXPECT_EQ(OutcomeOf(pass, RunEnd::kTargetLost, {}), ExitStatus::kUnfinished);
  EXPECT_EQ(OutcomeOf(fail, RunEnd::kTargetLost, {}), ExitStatus::kDivergence);
  EXPECT_EQ(OutcomeOf(pass, RunEnd::kUnrecorded, {}), ExitStatus::kUnfinished);
  EXPECT_EQ(OutcomeOf(fail, RunEnd::kUnrecorded, {}), ExitStatus::kDivergence);
}

}  // namespace
}  // namespace detcheck
