// p_vs_d: decoded logprobs against those of prefill, from constructed transcripts.

#include "reports/scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/reports/rich_report.h"
#include "tests/reports/run_builder.h"

namespace detcheck {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

const Completion kAnswer = Says({1, 2, 3, 4});

// What prefill tells of prompt and answer (12 + 4 tokens) where it agrees with kAnswer.
std::vector<TokenLogprob> Agreeing() {
  return std::vector<TokenLogprob>(15, TokenLogprob{-0.5, {}});
}

std::vector<TokenLogprob> With(int output_index, double logprob) {
  std::vector<TokenLogprob> scores = Agreeing();
  scores[12 + output_index - 1].logprob = logprob;
  return scores;
}

// The control arm, and these scores of its last answer.
RunBuilder Scored(const Completion& answer, const std::vector<std::vector<TokenLogprob>>& scores) {
  RunBuilder run;
  run.plan().modes = {};
  run.BeginMode(Mode::kPvsD);
  run.Solos(5, Arm::kControlCold, answer);
  const int request = run.AddRequest("q01+answer");
  run.plan().requests[request].prompt = {PromptSlice{0, 0, 12}, AnswerSlice{4, 0, 0, 4}};
  for (const auto& told : scores) {
    Step step;
    step.kind = StepKind::kScore;
    step.mode = Mode::kPvsD;
    step.score_request = request;
    StepRecord record;
    record.scores = told;
    run.Add(step, record);
  }
  return run;
}

TEST(Scores, EqualLogprobsPass) {
  const RunBuilder run = Scored(kAnswer, {Agreeing(), Agreeing()});
  EXPECT_EQ(run.Judge().verdict, Verdict::kPass);
  const PrefillComparison prefill = run.JudgeFirst().prefill.value();
  EXPECT_EQ(prefill.num_positions, 4);
  EXPECT_EQ(prefill.num_scores, 2);
  EXPECT_EQ(prefill.unique_scores, 1);
  EXPECT_EQ(prefill.num_different, 0);
  EXPECT_EQ(prefill.index, std::nullopt);
  EXPECT_EQ(prefill.mean_k3, 0.0);
}

TEST(Scores, OneBitIsADifference) {
  const double moved = std::nextafter(-0.5, 0.0);
  const RunBuilder run = Scored(kAnswer, {With(2, moved), With(2, moved)});
  const RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(run.Judge().verdict, Verdict::kFail);
  EXPECT_EQ(request.verdict, Verdict::kFail);
  EXPECT_EQ(request.cause, Cause::kNumeric);
  EXPECT_EQ(request.prefill->index, 2);
  EXPECT_EQ(request.prefill->absolute_position, 14);
  EXPECT_EQ(request.prefill->num_different, 1);
  EXPECT_THAT(request.reasons, Contains(HasSubstr("prefill_vs_decode) at 1 of 4 tokens, first at "
                                                  "output position 2 (absolute 14): token 3")));
}

TEST(Scores, FirstAndLastTokenAreCompared) {
  EXPECT_EQ(Scored(kAnswer, {With(0, -0.25)}).JudgeFirst().prefill->index, 0);
  const RequestJudgement last = Scored(kAnswer, {With(3, -0.25)}).JudgeFirst();
  EXPECT_EQ(last.prefill->index, 3);
  EXPECT_EQ(last.prefill->max_logprob_difference, 0.25);
  EXPECT_NEAR(*last.prefill->mean_k3, (std::exp(0.25) - 1.25) / 4, 1e-15);
}

TEST(Scores, LogprobsOfThePromptSayNothingOfDecoding) {
  std::vector<TokenLogprob> scores = Agreeing();
  scores[10].logprob = -7.0;
  EXPECT_EQ(Scored(kAnswer, {scores, scores}).Judge().verdict, Verdict::kPass);
}

TEST(Scores, PrefillThatDoesNotRepeatIsItsOwnFinding) {
  const RequestJudgement request = Scored(kAnswer, {Agreeing(), With(1, -0.25)}).JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kFail);
  EXPECT_EQ(request.cause, Cause::kNotRepeatable);
  EXPECT_EQ(request.prefill->unique_scores, 2);
  EXPECT_THAT(request.reasons, Contains(HasSubstr("prefill is not repeatable")));
}

TEST(Scores, WhatIsMissingIsInconclusive) {
  EXPECT_EQ(Scored(kAnswer, {{{-0.5, {}}}}).Judge().verdict, Verdict::kInconclusive);
  EXPECT_EQ(Scored(kAnswer, {{}}).Judge().verdict, Verdict::kInconclusive);
  EXPECT_EQ(Scored(SaysOnly({1, 2, 3, 4}), {Agreeing()}).Judge().verdict, Verdict::kInconclusive);
  EXPECT_EQ(Scored(Says({1, 2, 3}), {Agreeing()}).Judge().verdict, Verdict::kInconclusive);
  RunBuilder not_run = Scored(kAnswer, {Agreeing()});
  not_run.transcript().records.pop_back();
  EXPECT_EQ(not_run.JudgeFirst().verdict, Verdict::kInconclusive);
}

TEST(Scores, OtherCriteriaSayNothingOfLogprobs) {
  RunBuilder run = Scored(kAnswer, {With(2, -0.25)});
  run.plan().criterion.kind = CriterionKind::kTokenIds;
  EXPECT_EQ(run.Judge().verdict, Verdict::kUnsupported);
}

TEST(Scores, ReportKeepsTheComparison) {
  const Report report = ReportOf(Scored(kAnswer, {With(2, -0.25), With(2, -0.25)}));
  const std::string json = ReportToJson(report);
  EXPECT_THAT(json, HasSubstr("\"num_different\":1"));
  EXPECT_EQ(ReportToJson(ReportFromJson(json, "r.json")), json);
}

}  // namespace
}  // namespace detcheck
