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

ExitStatus Outcome(const Judgement& judgement, bool all_modes = false,
                   const std::vector<AllowedInconclusive>& allowed = {}) {
  return OutcomeOf(judgement, RunEnd::kComplete, all_modes, allowed);
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
  EXPECT_EQ(Outcome(Judged({Of(Mode::kRadixCache, Verdict::kUnsupported)}), true),
            ExitStatus::kInconclusive);
}

TEST(Outcome, UnsupportedCountsOnlyWhereNamed) {
  const Judgement judgement =
      Judged({Of(Mode::kSingle, Verdict::kPass), Of(Mode::kRadixCache, Verdict::kUnsupported)});
  EXPECT_EQ(Outcome(judgement, true), ExitStatus::kPass);
  EXPECT_EQ(Outcome(judgement, false), ExitStatus::kInconclusive);
}

TEST(Outcome, DecodeAgainstPrefillCountsWhereNamedOrClaimed) {
  const ModeJudgement pass = Of(Mode::kSingle, Verdict::kPass);
  for (const Verdict verdict : {Verdict::kFail, Verdict::kInconclusive}) {
    const Judgement judgement = Judged({pass, Of(Mode::kPvsD, verdict)});
    const auto counted = static_cast<ExitStatus>(ExitCode(verdict));
    EXPECT_EQ(Outcome(judgement, true), ExitStatus::kPass);
    EXPECT_EQ(Outcome(judgement, false), counted);
    EXPECT_EQ(OutcomeOf(judgement, RunEnd::kComplete, true, {}, true), counted);
    EXPECT_EQ(Outcome(Judged({Of(Mode::kPvsD, verdict)}), true), counted);
  }
  EXPECT_EQ(Outcome(Judged({pass, Of(Mode::kPvsD, Verdict::kError)}), true),
            ExitStatus::kUnfinished);
}

TEST(Outcome, DeterministicModeClaimsDecodeAsPrefill) {
  EXPECT_TRUE(ClaimsDecodeAsPrefill({{"engine.mode", "deterministic", FieldSource::kObserved}}));
  EXPECT_FALSE(ClaimsDecodeAsPrefill({{"engine.mode", "default", FieldSource::kObserved}}));
  EXPECT_FALSE(ClaimsDecodeAsPrefill({}));
}

TEST(Outcome, AllowedReasonsDoNotCount) {
  const Judgement judgement =
      Judged({Of(Mode::kSingle, Verdict::kPass),
              Of(Mode::kBatch, Verdict::kInconclusive, {"step 3: formed size 7 of 8"})});
  EXPECT_EQ(Outcome(judgement, true, {{Mode::kBatch, "formed size"}}), ExitStatus::kPass);
  EXPECT_EQ(Outcome(judgement, true, {{Mode::kBatch, "flush"}}), ExitStatus::kInconclusive);
  EXPECT_EQ(Outcome(judgement, true, {{Mode::kMixed, "formed size"}}), ExitStatus::kInconclusive);
}

TEST(Outcome, EveryReasonMustBeAllowedAndAFailureNeverIs) {
  const Judgement two_reasons =
      Judged({Of(Mode::kBatch, Verdict::kInconclusive, {"formed size 7 of 8", "no sample"})});
  EXPECT_EQ(Outcome(two_reasons, true, {{Mode::kBatch, "formed size"}}), ExitStatus::kInconclusive);
  const Judgement failure = Judged({Of(Mode::kBatch, Verdict::kFail, {"diverged"})});
  EXPECT_EQ(Outcome(failure, true, {{Mode::kBatch, "diverged"}}), ExitStatus::kDivergence);
}

TEST(Outcome, WhatBearsOnTheWholeRunCounts) {
  Judgement judgement = Judged({Of(Mode::kSingle, Verdict::kPass)});
  judgement.reasons = {"the target is not what it was when the run began"};
  EXPECT_EQ(Outcome(judgement), ExitStatus::kInconclusive);
}

TEST(Outcome, HowTheRunEnded) {
  const Judgement pass = Judged({Of(Mode::kSingle, Verdict::kPass)});
  const Judgement fail = Judged({Of(Mode::kSingle, Verdict::kFail)});
  EXPECT_EQ(OutcomeOf(fail, RunEnd::kInterrupted, true, {}), ExitStatus::kInterrupted);
  EXPECT_EQ(OutcomeOf(pass, RunEnd::kTargetLost, true, {}), ExitStatus::kUnfinished);
  EXPECT_EQ(OutcomeOf(fail, RunEnd::kTargetLost, true, {}), ExitStatus::kDivergence);
}

}  // namespace
}  // namespace detcheck
