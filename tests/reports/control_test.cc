// The control arm: what the solo samples say before anything is varied.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/run_builder.h"

namespace detcheck {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const Completion kAnswer = Says({1, 2, 3, 4, 5, 6, 7, 8});
const Completion kOther = WithLogprob(Says({1, 2, 3, 9, 5, 6, 7, 8}), 2, -0.4);

TEST(ControlArm, DisagreementIsNotRepeatable) {
  RunBuilder run;
  run.Solos(3, Arm::kControlCold, kAnswer).Solo(Arm::kControlCold, kOther);
  run.Solo(Arm::kControlCold, kAnswer).Batch({kOther, kOther});
  const RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kFail);
  EXPECT_EQ(request.cause, Cause::kNotRepeatable);
  for (const Divergence& divergence : request.divergences) {
    EXPECT_EQ(divergence.cause, Cause::kNotRepeatable);
  }
  EXPECT_THAT(request.reasons, Contains(HasSubstr("no batch or cache conclusion")));
  EXPECT_EQ(request.condition, "intermittent: 3 of 7 samples");
}

TEST(ControlArm, RechecksBelongToIt) {
  RunBuilder run;
  run.Solos(5, Arm::kControlCold, kAnswer).Batch({kAnswer, kAnswer}).Solo(Arm::kRecheck, kOther);
  EXPECT_EQ(run.JudgeFirst().cause, Cause::kNotRepeatable);
}

TEST(ControlArm, DisagreementInLogprobsCounts) {
  RunBuilder run;
  run.Solos(2, Arm::kControlCold, kAnswer);
  run.Solo(Arm::kControlCold, WithLogprob(kAnswer, 4, -0.51));
  EXPECT_EQ(run.JudgeFirst().cause, Cause::kNotRepeatable);
  run.plan().criterion.kind = CriterionKind::kTokenIds;
  EXPECT_EQ(run.JudgeFirst().verdict, Verdict::kPass);
}

TEST(ControlArm, OnlyTheFirstRunDiffers) {
  RunBuilder run;
  run.Solo(Arm::kControlCold, kOther).Solos(4, Arm::kControlCold, kAnswer);
  run.Batch({kAnswer, kAnswer});
  const RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kFail);
  EXPECT_EQ(request.cause, Cause::kFirstRunOnly);
  // The steady state is the reference: one divergence, that of the first run.
  ASSERT_EQ(request.divergences.size(), 1U);
  EXPECT_EQ(request.divergences[0].expected.record, 1);
  EXPECT_EQ(request.divergences[0].actual.record, 0);
  EXPECT_TRUE(request.divergences[0].by_control);
  EXPECT_EQ(request.condition, "in the first run only");
}

TEST(ControlArm, TwoSamplesCannotTellWhichIsOdd) {
  RunBuilder run;
  run.Solo(Arm::kControlCold, kOther).Solo(Arm::kControlCold, kAnswer);
  EXPECT_EQ(run.JudgeFirst().cause, Cause::kNotRepeatable);
}

TEST(ControlArm, BatchesAreStillJudgedAgainstTheSteadyState) {
  RunBuilder run;
  run.Solo(Arm::kControlCold, kOther).Solos(4, Arm::kControlCold, kAnswer);
  const Completion third = WithLogprob(Says({1, 2, 8, 4, 5, 6, 7, 8}), 1, -0.45);
  run.Batch({kAnswer, third});
  const RequestJudgement request = run.JudgeFirst();
  ASSERT_EQ(request.divergences.size(), 2U);
  EXPECT_EQ(request.divergences[0].cause, Cause::kFirstRunOnly);
  EXPECT_EQ(request.divergences[1].cause, Cause::kNumeric);
  EXPECT_EQ(request.cause, Cause::kFirstRunOnly);
  EXPECT_THAT(request.reasons, Contains(HasSubstr("numeric: ")));
}

TEST(ControlArm, BatchThatAnswersAsTheFirstRunIsItsOwnFinding) {
  RunBuilder run;
  run.Solo(Arm::kControlCold, kOther).Solos(4, Arm::kControlCold, kAnswer);
  run.Batch({kAnswer, kOther});
  const RequestJudgement request = run.JudgeFirst();
  ASSERT_EQ(request.divergences.size(), 1U);
  EXPECT_EQ(request.divergences[0].actual.record, 5);
  EXPECT_EQ(request.divergences[0].num_samples, 2);
  EXPECT_EQ(request.divergences[0].cause, Cause::kNumeric);
}

TEST(ControlArm, WarmDiffersFromCold) {
  RunBuilder run;
  run.Solos(5, Arm::kControlCold, kAnswer);
  run.Solos(5, Arm::kControlWarm, Cached(kOther, 8), CacheState::kWarm);
  const RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kFail);
  EXPECT_EQ(request.cause, Cause::kPrefixCache);
  EXPECT_THAT(request.reasons, Contains(HasSubstr("cold differs from warm (prefix_cache)")));
  EXPECT_EQ(request.condition, "with >= 8 cached tokens, never with fewer");
}

TEST(ControlArm, PartlyWarmIsJudgedAgainstCold) {
  RunBuilder run;
  run.Solos(5, Arm::kControlCold, kAnswer);
  run.Solos(5, Arm::kControlWarm, Cached(kAnswer, 8), CacheState::kWarm);
  run.Solo(Arm::kVaried, Cached(kOther, 4), CacheState::kShared);
  const RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(request.cause, Cause::kPrefixCache);
  EXPECT_THAT(request.reasons, Not(Contains(HasSubstr("warm samples agree"))));
  EXPECT_EQ(request.condition, "with 4 cached tokens only");
}

TEST(ControlArm, SharedBatchIsPrefixCacheOnlyWhereColdBatchesAgree) {
  RunBuilder run;
  run.Solos(5, Arm::kControlCold, kAnswer);
  const auto add_shared = [&] {
    run.Batch({Cached(kAnswer, 0), Cached(kOther, 8)});
    run.LastStep().cache = CacheState::kShared;
  };
  run.Batch({kAnswer, kAnswer, kAnswer});
  add_shared();
  EXPECT_EQ(run.JudgeFirst().cause, Cause::kPrefixCache);
  run.Batch({kAnswer, kOther, kAnswer});
  EXPECT_EQ(run.JudgeFirst().cause, Cause::kNumeric);
}

TEST(ControlArm, ColdSampleThatHitTheCacheIsNotControl) {
  RunBuilder run;
  run.Solos(4, Arm::kControlCold, kAnswer);
  run.Solo(Arm::kControlCold, Cached(kOther, 8));
  run.LastRecord().voided = "missed witness: 8 cached tokens, at most 0 allowed (item 0)";
  const RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kFail);
  EXPECT_EQ(request.cause, Cause::kPrefixCache);
}

TEST(ControlArm, TargetWithoutColdTakesTheSecondSolo) {
  RunBuilder run;
  run.Solos(3, Arm::kControlCold, kAnswer, CacheState::kAny);
  const RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kPass);
  EXPECT_EQ(request.reference, (SampleRef{1, 0}));
}

// Control samples of two starts of the target, as a resumed run has them.
RunBuilder OfTwoStarts(const std::vector<Completion>& first,
                       const std::vector<Completion>& second) {
  RunBuilder run;
  for (const Completion& answer : first) run.Solo(Arm::kControlCold, answer);
  for (const Completion& answer : second) {
    run.Solo(Arm::kControlCold, answer);
    run.LastRecord().launch = 1;
  }
  return run;
}

TEST(ControlArm, StartsThatDifferAreARestart) {
  for (const RunBuilder& run : {OfTwoStarts({kAnswer, kAnswer, kAnswer}, {kOther, kOther, kOther}),
                                OfTwoStarts({kAnswer}, {kOther, kOther, kOther})}) {
    const RequestJudgement request = run.JudgeFirst();
    EXPECT_EQ(request.verdict, Verdict::kFail);
    EXPECT_EQ(request.cause, Cause::kNotRepeatable);
    EXPECT_THAT(request.reasons, Contains(HasSubstr("differ between starts")));
    EXPECT_THAT(request.reasons, Contains(HasSubstr("(not_repeatable, restart)")));
    EXPECT_EQ(request.condition_kind, ConditionKind::kRestart);
  }
}

TEST(ControlArm, DisagreementWithinAStartIsNoRestart) {
  const RequestJudgement request =
      OfTwoStarts({kAnswer, kOther, kAnswer}, {kOther, kOther}).JudgeFirst();
  EXPECT_EQ(request.cause, Cause::kNotRepeatable);
  EXPECT_THAT(request.reasons, Contains(HasSubstr("run_to_run")));
  EXPECT_EQ(request.condition_kind, ConditionKind::kIntermittent);
}

TEST(ControlArm, AFirstRunThatDiffersWithinItsStartIsNoRestart) {
  const RequestJudgement request =
      OfTwoStarts({kOther, kAnswer, kAnswer}, {kAnswer, kAnswer}).JudgeFirst();
  EXPECT_EQ(request.cause, Cause::kFirstRunOnly);
  EXPECT_EQ(request.condition_kind, ConditionKind::kFirstRun);
}

TEST(ControlArm, StartsThatAgreePass) {
  EXPECT_EQ(OfTwoStarts({kAnswer, kAnswer}, {kAnswer, kAnswer}).JudgeFirst().verdict,
            Verdict::kPass);
}

TEST(ControlArm, SteadyWarmAndColdPass) {
  RunBuilder run;
  run.Solos(5, Arm::kControlCold, kAnswer);
  run.Solos(5, Arm::kControlWarm, Cached(kAnswer, 8), CacheState::kWarm);
  EXPECT_EQ(run.Judge().verdict, Verdict::kPass);
  EXPECT_THAT(run.JudgeFirst().reasons, IsEmpty());
}

}  // namespace
}  // namespace detcheck
