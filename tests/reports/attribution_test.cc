// Every class of cause, reached from constructed transcripts.

#include "reports/attribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/run_builder.h"

namespace detcheck {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Answers whose third token has two candidates, 3 and 9, with these logprobs.
Completion Choosing(TokenId chosen, double logprob_of_3, double logprob_of_9) {
  Completion answer = Says({1, 2, chosen, 4});
  TokenLogprob& told = answer.logprobs[2];
  told.logprob = chosen == 3 ? logprob_of_3 : logprob_of_9;
  told.top = {{3, logprob_of_3}, {9, logprob_of_9}};
  return answer;
}

RequestJudgement Judged(const Completion& reference, const Completion& other,
                        double temperature = 0.0) {
  RunBuilder run;
  run.plan().requests[0].sampling.temperature = temperature;
  run.Solos(5, Arm::kControlCold, reference).Batch({reference, other});
  return run.JudgeFirst();
}

TEST(Attribution, PromptDigestDiffers) {
  RunBuilder run;
  run.Solos(5, Arm::kControlCold, Says({1, 2, 3})).Batch({Says({1, 2, 3}), Says({1, 2, 4})});
  run.LastRecord().prompt_digests[1] = std::string(64, 'a');
  const RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(request.cause, Cause::kInput);
  EXPECT_EQ(request.divergences[0].cause, Cause::kInput);
}

TEST(Attribution, TargetCountsThePromptDifferently) {
  Completion counted = Says({1, 2, 4});
  counted.prompt_tokens = 13;
  EXPECT_EQ(Judged(Says({1, 2, 3}), counted).cause, Cause::kInput);
}

TEST(Attribution, DifferentPromptsFailEvenWhereAnswersAreEqual) {
  RunBuilder run = SteadyRun(Says({1, 2, 3}));
  run.LastRecord().prompt_digests[5] = std::string(64, 'a');
  const RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kFail);
  EXPECT_EQ(request.cause, Cause::kInput);
  EXPECT_THAT(request.reasons, Contains(HasSubstr("record 7, item 5 against record 0, item 0")));
}

TEST(Attribution, ExactTie) {
  const RequestJudgement request = Judged(Choosing(3, -0.75, -0.75), Choosing(9, -0.75, -0.75));
  EXPECT_EQ(request.cause, Cause::kExactTie);
  EXPECT_EQ(request.divergences[0].gap, 0.0);
  EXPECT_EQ(request.divergences[0].first_logprob_index, std::nullopt);
}

TEST(Attribution, TieAtTemperatureIsSampling) {
  EXPECT_EQ(Judged(Choosing(3, -0.75, -0.75), Choosing(9, -0.75, -0.75), 0.8).cause,
            Cause::kSampling);
}

TEST(Attribution, EqualLogprobsAndAnotherChoiceIsSampling) {
  const RequestJudgement request = Judged(Choosing(3, -0.25, -1.75), Choosing(9, -0.25, -1.75));
  EXPECT_EQ(request.cause, Cause::kSampling);
  EXPECT_EQ(request.divergences[0].gap, 1.5);
}

TEST(Attribution, LogprobsAtTheTokenDiffer) {
  const RequestJudgement request = Judged(Choosing(3, -0.70, -0.80), Choosing(9, -0.80, -0.70));
  EXPECT_EQ(request.cause, Cause::kNumeric);
  EXPECT_EQ(request.divergences[0].first_logprob_index, 2);
  EXPECT_NEAR(*request.divergences[0].max_logprob_difference, 0.1, 1e-12);
}

TEST(Attribution, LogprobsBeforeTheTokenDiffer) {
  const Completion earlier = WithLogprob(Choosing(9, -0.75, -0.75), 0, -0.4);
  EXPECT_EQ(Judged(Choosing(3, -0.75, -0.75), earlier).cause, Cause::kNumeric);
}

TEST(Attribution, LogprobsAfterTheTokenSayNothing) {
  const Completion later = WithLogprob(Choosing(9, -0.25, -1.75), 3, -0.4);
  EXPECT_EQ(Judged(Choosing(3, -0.25, -1.75), later).cause, Cause::kSampling);
}

TEST(Attribution, CandidatesThatAreNotToldLeaveItUnknown) {
  Completion reference = Choosing(3, -0.25, -1.75);
  Completion other = Choosing(9, -0.25, -1.75);
  reference.logprobs[2].top = {};
  other.logprobs[2].top = {};
  EXPECT_EQ(Judged(reference, other).cause, Cause::kUnknown);
}

TEST(Attribution, CandidateThatIsLeftOutThoughItBelongsShowsThatLogprobsDiffer) {
  Completion other = Choosing(9, -3.0, -0.25);
  other.logprobs[2].top = {{9, -0.25}, {5, -2.0}};  // 3 has -0.30 in the reference.
  Completion reference = Choosing(3, -0.30, -0.25);
  reference.logprobs[2].top = {{9, -0.25}, {3, -0.30}};
  const RequestJudgement request = Judged(reference, other);
  EXPECT_EQ(request.divergences[0].first_logprob_index, 2);
  EXPECT_EQ(request.cause, Cause::kNumeric);
}

TEST(Attribution, WithoutLogprobsItIsUnknownAndSaysWhatWouldTell) {
  const RequestJudgement request = Judged(SaysOnly({1, 2, 3}), SaysOnly({1, 2, 4}));
  EXPECT_EQ(request.cause, Cause::kUnknown);
  EXPECT_THAT(request.reasons, Contains(HasSubstr("logprobs with candidates would tell")));
}

TEST(Attribution, InputComesBeforeEverything) {
  RunBuilder run;
  run.Solos(2, Arm::kControlCold, Choosing(3, -0.75, -0.75));
  run.Solo(Arm::kControlCold, Choosing(9, -0.75, -0.75));
  run.LastRecord().prompt_digests[0] = std::string(64, 'a');
  EXPECT_EQ(run.JudgeFirst().cause, Cause::kInput);
}

TEST(Attribution, ExactTieLaterInTheAnswer) {
  Completion reference = Says({1, 2, 5, 4});
  Completion other = Says({1, 2, 5, 9});
  reference.logprobs[3].top = other.logprobs[3].top = {{4, -0.5}, {9, -0.5}};
  const RequestJudgement request = Judged(reference, other);
  EXPECT_EQ(request.cause, Cause::kExactTie);
  EXPECT_EQ(request.divergences[0].index, 3);
  EXPECT_EQ(request.divergences[0].near_tie, std::nullopt);
}

TEST(NearTie, BoundsBelongToTheNearerClass) {
  EXPECT_EQ(ToString(NearTieOf(0.0)), "0");
  EXPECT_EQ(ToString(NearTieOf(0x1p-1000)), "<=0.125");
  EXPECT_EQ(ToString(NearTieOf(0.125)), "<=0.125");
  EXPECT_EQ(ToString(NearTieOf(0.7)), "<=0.7");
  EXPECT_EQ(ToString(NearTieOf(0.75)), ">0.7");
}

TEST(NearTie, OfTheReferenceWhereTokensPart) {
  const auto class_of = [](double gap) {
    return Judged(Choosing(3, -0.5, -0.5 - gap), Choosing(9, -0.75, -0.25)).divergences[0].near_tie;
  };
  EXPECT_EQ(class_of(0.0), NearTie::kZero);
  EXPECT_EQ(class_of(0.0625), NearTie::kEighth);
  EXPECT_EQ(class_of(0.5), NearTie::kTenths);
  EXPECT_EQ(class_of(2.0), NearTie::kNone);
}

TEST(NearTie, WhateverMovedTheLogprobs) {
  const auto class_of = [](double gap) {
    return Judged(Choosing(3, -1.0, -1.0 - gap), WithLogprob(Choosing(9, -1.0, -1.0), 0, -0.25))
        .divergences[0]
        .near_tie;
  };
  EXPECT_EQ(class_of(0.0), NearTie::kZero);
  EXPECT_EQ(class_of(0.125), NearTie::kEighth);
  EXPECT_EQ(class_of(0.25), NearTie::kTenths);
  EXPECT_EQ(class_of(1.0), NearTie::kNone);
}

TEST(NearTie, SaysNothingAtTemperatureOrWithoutNumbers) {
  const Completion reference = Choosing(3, -0.70, -0.80);
  EXPECT_EQ(Judged(reference, Choosing(9, -0.80, -0.70), 0.8).divergences[0].near_tie,
            std::nullopt);
  EXPECT_EQ(Judged(reference, Choosing(9, -0.70, -0.80)).divergences[0].near_tie, std::nullopt);
}

TEST(SuspectedState, MoreThanOneNatWhereLogprobsFirstDiffer) {
  const Completion reference = Says({1, 2, 3, 4});
  EXPECT_TRUE(Judged(reference, WithLogprob(reference, 1, -2.0)).divergences[0].suspected_state);
  EXPECT_TRUE(
      Judged(Choosing(3, -0.1, -3.0), Choosing(9, -3.0, -0.1)).divergences[0].suspected_state);
  EXPECT_FALSE(Judged(reference, WithLogprob(reference, 1, -1.5)).divergences[0].suspected_state);
}

TEST(SuspectedState, WhatComesLaterIsNoHint) {
  const Completion reference = Says({1, 2, 3, 4});
  const Completion other = WithLogprob(WithLogprob(reference, 1, -0.25), 3, -9.0);
  EXPECT_FALSE(Judged(reference, other).divergences[0].suspected_state);
}

TEST(Restart, DifferencesBetweenStartsAreSaidToBe) {
  RunBuilder run;
  run.Solos(5, Arm::kControlCold, Says({1, 2, 3})).Solos(3, Arm::kVaried, Says({1, 2, 3}));
  for (int i = 0; i < 2; ++i) {
    run.Solo(Arm::kVaried, Says({1, 2, 4}));
    run.LastRecord().launch = 1;
  }
  EXPECT_THAT(run.JudgeFirst().reasons, Contains(HasSubstr("another start differ from them")));
  run.Solo(Arm::kVaried, Says({1, 2, 4}));  // of the first start
  EXPECT_THAT(run.JudgeFirst().reasons, Not(Contains(HasSubstr("another start"))));
}

TEST(Attribution, GravestFilesTheRequest) {
  EXPECT_EQ(Gravest({}), Cause::kNone);
  EXPECT_EQ(Gravest({Cause::kExactTie, Cause::kNumeric}), Cause::kNumeric);
  EXPECT_EQ(Gravest({Cause::kNumeric, Cause::kInput, Cause::kPrefixCache}), Cause::kInput);
}

}  // namespace
}  // namespace detcheck
