#include "reports/judgement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/run_builder.h"

namespace detcheck {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Completion kAnswer = Says({1, 2, 3, 4, 5, 6, 7, 8});
const Completion kOther = Says({1, 2, 3, 9, 5, 6, 7, 8});

TEST(Judgement, EqualSamplesPass) {
  const Judgement judgement = SteadyRun(kAnswer).Judge();
  EXPECT_EQ(judgement.verdict, Verdict::kPass);
  EXPECT_THAT(judgement.reasons, IsEmpty());
  const RequestJudgement& request = judgement.modes[0].requests[0];
  EXPECT_EQ(request.total_samples, 19);
  EXPECT_THAT(request.sample_counts, ElementsAre(19));
  EXPECT_EQ(request.traced_samples, 19);
  EXPECT_EQ(request.unique_traces, 1);
  EXPECT_THAT(request.divergences, IsEmpty());
  EXPECT_FALSE(request.earliest);
  EXPECT_THAT(request.reasons, IsEmpty());
  EXPECT_EQ(request.cause, Cause::kNone);
}

TEST(Judgement, EveryRowOfABatchIsCompared) {
  for (int row = 0; row < 4; ++row) {
    RunBuilder run = SteadyRun(kAnswer);
    std::vector<Completion> answers(4, kAnswer);
    answers[row] = kOther;
    run.Batch(answers);
    const RequestJudgement request = run.JudgeFirst();
    EXPECT_EQ(request.verdict, Verdict::kFail) << "row " << row;
    EXPECT_THAT(request.sample_counts, ElementsAre(22, 1));
    ASSERT_EQ(request.divergences.size(), 1U);
    EXPECT_EQ(request.divergences[0].actual.item, row);
    EXPECT_EQ(request.divergences[0].index, 3);
    EXPECT_EQ(request.divergences[0].absolute_position, 15);
    EXPECT_EQ(request.divergences[0].expected_token, 4);
    EXPECT_EQ(request.divergences[0].actual_token, 9);
  }
}

TEST(Judgement, LaterRepeatsAreComparedToo) {
  RunBuilder run = SteadyRun(kAnswer);
  run.Batch({kAnswer, kAnswer}).Batch({kAnswer, kOther});
  const RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kFail);
  EXPECT_THAT(request.condition, HasSubstr("intermittent: 1 of 23"));
}

TEST(Judgement, EarliestPairIsFoundOverAllPairs) {
  // Two outputs differ from each other at 1; so does one of them from the reference.
  RunBuilder run = SteadyRun(kAnswer);
  run.Batch({kOther, Says({1, 7, 3, 4, 5, 6, 7, 8})});
  const RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(request.unique_samples, 3);
  ASSERT_TRUE(request.earliest);
  EXPECT_EQ(request.earliest->index, 1);
  EXPECT_EQ(request.earliest->actual.item, 1);
}

TEST(Judgement, TracesDifferWhereTokensDoNot) {
  RunBuilder run = SteadyRun(kAnswer);
  run.Batch({kAnswer, WithLogprob(kAnswer, 2, -0.5000001)});
  const Judgement judgement = run.Judge();
  EXPECT_EQ(judgement.verdict, Verdict::kFail);
  const RequestJudgement& request = judgement.modes[0].requests[0];
  EXPECT_EQ(request.unique_samples, 1);
  EXPECT_EQ(request.unique_traces, 2);
  EXPECT_THAT(request.trace_counts, ElementsAre(20, 1));
  ASSERT_EQ(request.divergences.size(), 1U);
  EXPECT_EQ(request.divergences[0].index, std::nullopt);
  EXPECT_EQ(request.divergences[0].first_logprob_index, 2);
  EXPECT_NEAR(*request.divergences[0].max_logprob_difference, 1e-7, 1e-12);
  EXPECT_EQ(request.cause, Cause::kNumeric);
}

TEST(Judgement, OneBitOfALogprobIsADifference) {
  RunBuilder run = SteadyRun(kAnswer);
  run.Batch({kAnswer, WithLogprob(kAnswer, 7, std::nextafter(-0.5, 0.0))});
  EXPECT_EQ(run.JudgeFirst().verdict, Verdict::kFail);
}

TEST(Judgement, UnderTokenIdsTracesAreOnlyShown) {
  RunBuilder run = SteadyRun(kAnswer);
  run.plan().criterion.kind = CriterionKind::kTokenIds;
  run.Batch({kAnswer, WithLogprob(kAnswer, 2, -0.6)});
  const RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kPass);
  EXPECT_EQ(request.unique_traces, 2);
  ASSERT_EQ(request.divergences.size(), 1U);
  EXPECT_FALSE(request.divergences[0].breaks_criterion);
  EXPECT_EQ(request.cause, Cause::kNone);
}

TEST(Judgement, ShorterAnswerDivergesAtItsEnd) {
  RunBuilder run = SteadyRun(kAnswer);
  Completion shorter = Says({1, 2, 3, 4, 5});
  shorter.finish_reason = FinishReason::kStop;
  run.Batch({kAnswer, shorter});
  const RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kFail);
  EXPECT_EQ(request.divergences[0].index, 5);
  EXPECT_EQ(request.divergences[0].expected_token, 6);
  EXPECT_EQ(request.divergences[0].actual_token, std::nullopt);
}

TEST(Judgement, FinishReasonIsPartOfTheAnswer) {
  RunBuilder run = SteadyRun(kAnswer);
  Completion stopped = kAnswer;
  stopped.finish_reason = FinishReason::kStop;
  run.Batch({kAnswer, stopped});
  const RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(request.unique_samples, 2);
  EXPECT_EQ(request.divergences[0].index, 8);
}

TEST(Judgement, AbortedAnswersAreComparedAsPrefixes) {
  RunBuilder run = SteadyRun(kAnswer);
  const Completion aborted = Aborted(kAnswer, 3);
  Step step = run.BatchOf(2);
  step.items[1].abort_after_tokens = 3;
  StepRecord record;
  record.completions = {kAnswer, aborted};
  for (Completion& answer : record.completions) answer.witness.formed_size = 2;
  run.Add(step, record);
  RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kPass);
  EXPECT_THAT(request.sample_counts, ElementsAre(21));
  EXPECT_THAT(request.trace_counts, ElementsAre(21));

  run.LastRecord().completions[1].token_ids[2] = 77;
  request = run.JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kFail);
  EXPECT_EQ(request.divergences[0].index, 2);
}

TEST(Judgement, AbortedTraceThatDiffersFails) {
  RunBuilder run = SteadyRun(kAnswer);
  Step step = run.BatchOf(1);
  step.items[0].abort_after_tokens = 3;
  StepRecord record;
  record.completions = {WithLogprob(Aborted(kAnswer, 3), 1, -0.7)};
  run.Add(step, record);
  const RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kFail);
  EXPECT_EQ(request.unique_samples, 1);
  EXPECT_EQ(request.unique_traces, 2);
}

TEST(Judgement, AnAnswerCutOffByNobodyIsNotWhole) {
  RunBuilder run = SteadyRun(kAnswer);
  run.Batch({kAnswer, Aborted(kAnswer, 3)});
  const RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kInconclusive);
  EXPECT_THAT(request.reasons, Contains(HasSubstr("cut off before its planned end")));
}

TEST(Judgement, SamplesWithoutLogprobsMustAgreeInTokens) {
  RunBuilder run = SteadyRun(kAnswer);
  run.Solo(Arm::kNoLogprobs, SaysOnly(kAnswer.token_ids));
  RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kPass);
  EXPECT_EQ(request.total_samples, 20);
  EXPECT_EQ(request.traced_samples, 19);
  run.LastRecord().completions[0] = SaysOnly(kOther.token_ids);
  request = run.JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kFail);
  EXPECT_EQ(request.cause, Cause::kUnknown);
}

TEST(Judgement, ReferenceWithoutLogprobsIsStoodInForByASampleOfItsTokens) {
  RunBuilder run;
  run.Solos(3, Arm::kControlCold, SaysOnly(kAnswer.token_ids));
  run.Batch({kOther, kAnswer, kAnswer, WithLogprob(kAnswer, 5, -0.6)});
  const RequestJudgement request = run.JudgeFirst();
  ASSERT_EQ(request.divergences.size(), 2U);
  EXPECT_EQ(request.divergences[0].actual.item, 0);  // Other tokens.
  EXPECT_EQ(request.divergences[1].expected.item, 1);
  EXPECT_EQ(request.divergences[1].actual.item, 3);  // Another trace.
}

TEST(Judgement, WithoutLogprobsBitwiseIsTokenIdsAndSaysSo) {
  const Judgement judgement = SteadyRun(SaysOnly({1, 2, 3})).Judge();
  EXPECT_EQ(judgement.verdict, Verdict::kPass);
  EXPECT_EQ(judgement.modes[0].requests[0].unique_traces, 0);
  EXPECT_THAT(judgement.modes[0].notes, Contains(HasSubstr("resolved to token_ids")));
}

TEST(Judgement, OneSampleProvesNothing) {
  RunBuilder run;
  run.Solo(Arm::kControlCold, kAnswer);
  const Judgement judgement = run.Judge();
  EXPECT_EQ(judgement.verdict, Verdict::kInconclusive);
  EXPECT_THAT(judgement.modes[0].requests[0].reasons, ElementsAre(HasSubstr("one sample")));
}

TEST(Judgement, NoSampleProvesNothing) {
  RunBuilder run = SteadyRun(kAnswer);
  run.transcript().records.clear();
  const Judgement judgement = run.Judge();
  EXPECT_EQ(judgement.verdict, Verdict::kInconclusive);
  EXPECT_THAT(judgement.modes[0].reasons, Contains("no sample was judged"));
  EXPECT_THAT(judgement.modes[0].reasons, Contains(HasSubstr("8 steps were not run")));
}

TEST(Judgement, NothingPlannedProvesNothing) {
  const Judgement judgement = Judge(Plan{}, Transcript{});
  EXPECT_EQ(judgement.verdict, Verdict::kInconclusive);
  EXPECT_THAT(judgement.reasons, Contains("nothing was run"));
}

TEST(Judgement, IncompleteRunIsInconclusive) {
  RunBuilder run = SteadyRun(kAnswer);
  run.transcript().complete = false;
  run.transcript().ended_early = "interrupted";
  EXPECT_EQ(run.Judge().verdict, Verdict::kInconclusive);
  EXPECT_THAT(run.Judge().reasons, ElementsAre("not every step was run: interrupted"));
}

TEST(Judgement, IncompleteRunWithADivergenceFails) {
  RunBuilder run = SteadyRun(kAnswer);
  run.Batch({kAnswer, kOther});
  run.plan().steps.push_back(run.BatchOf(16));
  run.transcript().complete = false;
  EXPECT_EQ(run.Judge().verdict, Verdict::kFail);
}

TEST(Judgement, ChangedIdentityIsInconclusive) {
  RunBuilder run = SteadyRun(kAnswer);
  run.transcript().identity = "a";
  run.transcript().identity_after = "a";
  EXPECT_EQ(run.Judge().verdict, Verdict::kPass);
  run.transcript().identity_after = "b";
  EXPECT_EQ(run.Judge().verdict, Verdict::kInconclusive);
  run.transcript().identity_after = "";
  EXPECT_THAT(run.Judge().notes, Contains(HasSubstr("could not be read again")));
}

TEST(Judgement, PreparationsAreNotJudged) {
  RunBuilder run = SteadyRun(kAnswer);
  run.Solo(Arm::kPrepare, kOther, CacheState::kAny);
  EXPECT_EQ(run.Judge().verdict, Verdict::kPass);
  EXPECT_EQ(run.JudgeFirst().total_samples, 19);
}

TEST(Judgement, NeighbourWithOneSampleTakesNothingFromTheSubject) {
  RunBuilder run = SteadyRun(kAnswer);
  const int neighbour = run.AddRequest("n01");
  run.Batch({kAnswer, kOther});
  run.LastStep().items[1].request = neighbour;
  run.LastStep().items[1].subject = false;
  const Judgement judgement = run.Judge();
  EXPECT_EQ(judgement.verdict, Verdict::kPass);
  ASSERT_EQ(judgement.modes[0].requests.size(), 2U);
  EXPECT_FALSE(judgement.modes[0].requests[1].subject);
  EXPECT_EQ(judgement.modes[0].requests[1].verdict, Verdict::kInconclusive);
}

TEST(Judgement, NeighbourThatDivergesFails) {
  RunBuilder run = SteadyRun(kAnswer);
  const int neighbour = run.AddRequest("n01");
  for (const Completion& answer : {kAnswer, kOther}) {
    run.Batch({kAnswer, answer});
    run.LastStep().items[1].request = neighbour;
    run.LastStep().items[1].subject = false;
    run.LastRecord().prompt_digests.clear();
  }
  const Judgement judgement = run.Judge();
  EXPECT_EQ(judgement.verdict, Verdict::kFail);
  EXPECT_EQ(judgement.modes[0].requests[0].verdict, Verdict::kPass);
  EXPECT_EQ(judgement.modes[0].requests[1].verdict, Verdict::kFail);
}

TEST(Judgement, ModesAreJudgedApart) {
  RunBuilder run = SteadyRun(kAnswer);
  run.BeginMode(Mode::kBatch);
  run.Solos(2, Arm::kControlCold, kOther);
  const Judgement judgement = run.Judge();
  EXPECT_EQ(judgement.modes[0].verdict, Verdict::kPass);
  EXPECT_EQ(judgement.modes[1].verdict, Verdict::kPass);
}

TEST(Judgement, UnplannedModesAreUnsupported) {
  RunBuilder run = SteadyRun(kAnswer);
  run.plan().unplanned.push_back({Mode::kRadixCache, "the prefix cache is off"});
  run.plan().modes_named = true;
  const Judgement judgement = run.Judge();
  EXPECT_EQ(judgement.modes[1].verdict, Verdict::kUnsupported);
  EXPECT_EQ(judgement.verdict, Verdict::kUnsupported);
  EXPECT_EQ(ExitCode(judgement.verdict), 3);
  EXPECT_THAT(judgement.modes[1].reasons, ElementsAre("the prefix cache is off"));
}

TEST(Judgement, TextCriterion) {
  Completion with_text = kAnswer;
  with_text.text = "yes";
  RunBuilder run = SteadyRun(with_text);
  run.plan().criterion.kind = CriterionKind::kText;
  EXPECT_EQ(run.Judge().verdict, Verdict::kPass);
  EXPECT_EQ(run.JudgeFirst().unique_texts, 1);

  // Other tokens of the same text are shown, and do not fail.
  Completion same_text = kOther;
  same_text.text = "yes";
  run.Batch({with_text, same_text});
  RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kPass);
  EXPECT_EQ(request.unique_samples, 2);
  EXPECT_FALSE(request.divergences[0].breaks_criterion);

  Completion other_text = with_text;
  other_text.text = "no";
  run.Batch({with_text, other_text});
  request = run.JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kFail);
  EXPECT_THAT(request.reasons[0], HasSubstr("texts differ: 2 unique texts in 23 samples"));
}

TEST(Judgement, TextCriterionWithoutTextIsInconclusive) {
  RunBuilder run = SteadyRun(kAnswer);
  run.plan().criterion.kind = CriterionKind::kText;
  EXPECT_EQ(run.Judge().verdict, Verdict::kInconclusive);
  EXPECT_THAT(run.JudgeFirst().reasons, Contains(HasSubstr("the target gave none")));
}

TEST(Judgement, WorseOrdersVerdictsAsExitCodes) {
  const Verdict order[] = {Verdict::kPass, Verdict::kUnsupported, Verdict::kInconclusive,
                           Verdict::kError, Verdict::kFail};
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 5; ++j) EXPECT_EQ(Worse(order[i], order[j]), order[std::max(i, j)]);
  }
  EXPECT_EQ(ExitCode(Verdict::kPass), 0);
  EXPECT_EQ(ExitCode(Verdict::kFail), 1);
  EXPECT_EQ(ExitCode(Verdict::kInconclusive), 3);
  EXPECT_EQ(ExitCode(Verdict::kError), 4);
}

TEST(Judgement, RecordsOfNoStepAreIgnored) {
  RunBuilder run = SteadyRun(kAnswer);
  StepRecord stray;
  stray.step = 99;
  stray.completions = {kOther};
  run.transcript().records.push_back(stray);
  EXPECT_EQ(run.Judge().verdict, Verdict::kPass);
}

TEST(Judgement, AnswersOfNothingShowNothing) {
  const RequestJudgement request = SteadyRun(Says({})).JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kInconclusive);
  EXPECT_THAT(request.reasons, ElementsAre("every answer is empty"));
}

}  // namespace
}  // namespace detcheck
