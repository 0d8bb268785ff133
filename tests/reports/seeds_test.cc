// seeds: different seeds must differ where chance cannot explain that they do not.

#include "reports/seeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reports/console_failure.h"
#include "tests/reports/rich_report.h"
#include "tests/reports/run_builder.h"

namespace detcheck {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

Sampling At(double temperature) {
  Sampling sampling;
  sampling.temperature = temperature;
  return sampling;
}

// An answer whose tokens were one of two candidates each, with this probability.
Completion Drawn(const std::vector<TokenId>& ids, double probability) {
  Completion answer = Says(ids);
  for (size_t i = 0; i < ids.size(); ++i) {
    TokenLogprob& told = answer.logprobs[i];
    told.logprob = std::log(probability);
    told.top = {{ids[i], told.logprob}, {900, std::log(1.0 - probability)}};
    if (probability < 0.5) std::swap(told.top[0], told.top[1]);
  }
  return answer;
}

const std::vector<TokenId> kLong = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
                                    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

// One request for each answer, equal but for the seed, sampled twice.
RunBuilder Seeded(const std::vector<Completion>& answers, const Sampling& sampling) {
  RunBuilder run;
  run.plan().modes = {};
  run.BeginMode(Mode::kSeeds);
  for (size_t i = 0; i < answers.size(); ++i) {
    const int request = i == 0 ? 0 : run.AddRequest("q01@seed" + std::to_string(i));
    PlannedRequest& planned = run.plan().requests[request];
    planned.prompt = run.plan().requests[0].prompt;
    planned.sampling = sampling;
    planned.sampling.seed = 42 + i;
    for (int repeat = 0; repeat < 2; ++repeat) {
      Step step = run.BatchOf(1);
      step.arm = Arm::kControlCold;
      step.items[0].request = request;
      StepRecord record;
      record.completions = {answers[i]};
      record.prompt_digests = {std::string(64, 'd')};
      run.Add(step, record);
    }
  }
  return run;
}

TEST(Seeds, DifferentOutputsPass) {
  const Judgement judgement =
      Seeded({Drawn({1, 2, 3}, 0.5), Drawn({1, 2, 4}, 0.5)}, At(0.8)).Judge();
  EXPECT_EQ(judgement.verdict, Verdict::kPass);
  EXPECT_THAT(judgement.modes[0].notes, Contains(HasSubstr("1 with different outputs, 0 with")));
}

TEST(Seeds, EqualOutputsBeyondChanceFail) {
  const Judgement judgement = Seeded({Drawn(kLong, 0.5), Drawn(kLong, 0.5)}, At(0.8)).Judge();
  EXPECT_EQ(judgement.verdict, Verdict::kFail);
  const RequestJudgement& later = judgement.modes[0].requests[1];
  EXPECT_EQ(later.cause, Cause::kSampling);
  EXPECT_THAT(later.reasons, Contains(HasSubstr("different seeds, equal outputs (seeds 42 and 43): "
                                                "by chance with a probability of at most 1e-7")));
  EXPECT_EQ(judgement.modes[0].requests[0].verdict, Verdict::kPass);
}

TEST(Seeds, EqualOutputsAreShownAsWhatTheyAre) {
  const RunBuilder run = Seeded({Drawn(kLong, 0.5), Drawn(kLong, 0.5)}, At(0.8));
  const Report report = ReportOf(run);
  const std::string text = RenderFailure(report, report.judgement.modes[0].requests[1]);
  EXPECT_THAT(text, HasSubstr("Different seeds give different answers."));
  EXPECT_THAT(text, HasSubstr("Cause:       sampling\n"));
}

TEST(Seeds, EqualOutputsByChanceSayNothing) {
  const Completion likely = Drawn(kLong, 0.9);
  const Judgement judgement = Seeded({likely, likely}, At(0.8)).Judge();
  EXPECT_EQ(judgement.verdict, Verdict::kInconclusive);
  EXPECT_THAT(judgement.modes[0].reasons, Contains(HasSubstr("q01: too little entropy")))
      << "what decides the exit code is the mode's";
  Completion other = likely;
  other.token_ids[20] = 77;
  EXPECT_EQ(Seeded({likely, likely, other}, At(0.8)).Judge().verdict, Verdict::kPass);
}

TEST(Seeds, EqualOutputsWithoutEvidenceAreInconclusive) {
  EXPECT_EQ(Seeded({SaysOnly(kLong), SaysOnly(kLong), SaysOnly({1, 2})}, At(0.8)).Judge().verdict,
            Verdict::kInconclusive);
  Completion no_candidates = Drawn(kLong, 0.25);
  for (TokenLogprob& told : no_candidates.logprobs) told.top.clear();
  EXPECT_EQ(Seeded({no_candidates, no_candidates}, At(0.8)).Judge().verdict,
            Verdict::kInconclusive);
}

TEST(Seeds, RequestThatDoesNotRepeatIsLeftOut) {
  RunBuilder run = Seeded({Drawn(kLong, 0.5), Drawn(kLong, 0.5)}, At(0.8));
  run.LastRecord().completions[0].token_ids[3] = 77;
  const Judgement judgement = run.Judge();
  EXPECT_EQ(judgement.modes[0].requests[1].cause, Cause::kNotRepeatable);
  EXPECT_THAT(judgement.modes[0].notes, Contains(HasSubstr("0 with different outputs, 0 with")));
}

TEST(Seeds, RequestsThatDifferInMoreAreNoPair) {
  RunBuilder run = Seeded({Drawn(kLong, 0.5), Drawn(kLong, 0.5)}, At(0.8));
  run.plan().requests[1].sampling.top_k = 5;
  EXPECT_EQ(run.Judge().verdict, Verdict::kPass);
  EXPECT_EQ(Seeded({Drawn(kLong, 0.5), Drawn(kLong, 0.5)}, At(0.0)).Judge().verdict,
            Verdict::kPass);
}

double BoundOf(double probability, const Sampling& sampling) {
  return std::exp(LogProbabilityBound(sampling, Drawn({1}, probability)).value());
}

TEST(SeedsBound, IsTheProbabilityWhereAllIsTold) {
  EXPECT_NEAR(BoundOf(0.25, At(1.0)), 0.25, 1e-12);
  // 0.75^2 / (0.75^2 + 0.25^2) at temperature 0.5: more than 0.75.
  EXPECT_NEAR(BoundOf(0.75, At(0.5)), 0.9, 1e-12);
}

TEST(SeedsBound, TakesTheLargerOfBothReadings) {
  EXPECT_NEAR(BoundOf(0.25, At(0.5)), 0.25, 1e-12);  // 0.1 were the logprobs before temperature
  EXPECT_NEAR(BoundOf(0.25, At(2.0)), std::sqrt(0.25) / (std::sqrt(0.25) + std::sqrt(0.75)), 1e-12);
}

TEST(SeedsBound, CountsNoLessProbableCandidatesWhereFiltersAreOn) {
  Sampling filtered = At(1.0);
  filtered.top_k = 1;
  EXPECT_NEAR(BoundOf(0.75, filtered), 1.0, 1e-12);
  EXPECT_NEAR(BoundOf(0.25, filtered), 0.25, 1e-12);
}

TEST(SeedsBound, UntoldCandidatesMakeItLarger) {
  Completion answer = Drawn({1}, 0.25);
  answer.logprobs[0].top.clear();
  EXPECT_NEAR(std::exp(*LogProbabilityBound(At(1.0), answer)), 0.25, 1e-12);
  EXPECT_NEAR(std::exp(*LogProbabilityBound(At(0.5), answer)), 1.0, 1e-12);
  EXPECT_EQ(LogProbabilityBound(At(1.0), SaysOnly({1})), std::nullopt);
}

}  // namespace
}  // namespace detcheck
