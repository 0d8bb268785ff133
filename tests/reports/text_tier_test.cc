// Answers without token IDs: compared by text, and said to be so everywhere.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reports/annotations.h"
#include "reports/console.h"
#include "reports/console_words.h"
#include "reports/diff.h"
#include "reports/gate_baseline.h"
#include "reports/gate_cases.h"
#include "reports/html.h"
#include "reports/junit.h"
#include "reports/markdown.h"
#include "reports/report.h"
#include "reports/token_identity.h"
#include "reports/transcript_line.h"
#include "tests/reports/rich_report.h"
#include "tests/reports/run_builder.h"
#include "tests/reports/text_answers.h"

namespace detcheck {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const Completion kAnswer = Writes({"The ", "quick ", "brown ", "fox"});
const Completion kOther = Writes({"The ", "quick ", "blue ", "fox"});

RunBuilder Differing() {
  RunBuilder run = SteadyRun(kAnswer);
  run.Batch({kAnswer, kOther});
  return run;
}

TEST(TextTier, EqualTextsPassAndThePassSaysThatItIsByText) {
  const Report report = ReportOf(SteadyRun(kAnswer));
  EXPECT_EQ(report.judgement.verdict, Verdict::kPass);
  const RequestJudgement& request = report.judgement.modes[0].requests[0];
  EXPECT_EQ(request.identity, TokenIdentity::kText);
  EXPECT_EQ(request.unique_samples, 1);
  EXPECT_EQ(request.traced_samples, 19);
  EXPECT_EQ(request.unique_traces, 1);
  EXPECT_THAT(CountsOf(request), HasSubstr("Unique samples: 1, Unique logprob traces: 1, "
                                           "compared by text"));
  EXPECT_THAT(report.judgement.modes[0].notes,
              Contains(HasSubstr("compared by text, as the target gives no token IDs")));
  EXPECT_THAT(report.scope.held, Contains(ScopeFact{"token_identity", "text"}));
  EXPECT_THAT(RenderConsole(report, false), HasSubstr("compared by text"));
}

TEST(TextTier, WithIdsNothingIsSaidOfText) {
  const Report report = ReportOf(SteadyRun(Says({1, 2, 3})));
  EXPECT_THAT(RenderConsole(report, false), Not(HasSubstr("by text")));
  EXPECT_THAT(report.scope.held, Not(Contains(ScopeFact{"token_identity", "text"})));
}

TEST(TextTier, OtherTextFailsAtAByteAndNeverAtATokenIndex) {
  const RequestJudgement request = Differing().JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kFail);
  EXPECT_EQ(request.unique_samples, 2);
  EXPECT_THAT(request.sample_counts, ElementsAre(20, 1));
  ASSERT_EQ(request.divergences.size(), 1U);
  const Divergence& divergence = request.divergences[0];
  EXPECT_EQ(divergence.text_offset, 11);
  EXPECT_EQ(divergence.index, std::nullopt);
  EXPECT_EQ(divergence.absolute_position, std::nullopt);
  EXPECT_EQ(divergence.expected_token, std::nullopt);
  EXPECT_EQ(divergence.actual_token, std::nullopt);
  EXPECT_THAT(request.reasons, Contains(HasSubstr("texts differ: 2 unique samples of 21 (20 + 1), "
                                                  "first at byte 11")));
}

TEST(TextTier, TheEarliestIsFoundByBytes) {
  RunBuilder run = Differing();
  run.Batch({kAnswer, Writes({"Th", "is"})});
  const RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(request.unique_samples, 3);
  ASSERT_TRUE(request.earliest);
  EXPECT_EQ(request.earliest->text_offset, 2);
}

TEST(TextTier, FinishReasonAndLengthArePartOfTheAnswer) {
  for (Completion other : {kAnswer, Writes({"The ", "quick "})}) {
    other.finish_reason = FinishReason::kStop;
    RunBuilder run = SteadyRun(kAnswer);
    run.Batch({kAnswer, other});
    const RequestJudgement request = run.JudgeFirst();
    EXPECT_EQ(request.unique_samples, 2);
    EXPECT_EQ(request.divergences.at(0).text_offset, other.text->size());
  }
}

TEST(TextTier, AnAbortedAnswerIsThePrefixOfAText) {
  const auto judged = [](std::vector<std::string> pieces) {
    RunBuilder run = SteadyRun(kAnswer);
    Completion aborted = Writes(pieces);
    aborted.finish_reason = FinishReason::kAbort;
    Step step = run.BatchOf(2);
    step.items[1].abort_after_tokens = 2;
    StepRecord record;
    record.completions = {kAnswer, aborted};
    for (Completion& answer : record.completions) answer.witness.formed_size = 2;
    run.Add(step, record);
    return run.JudgeFirst();
  };
  EXPECT_EQ(judged({"The ", "quick "}).verdict, Verdict::kPass);
  EXPECT_EQ(judged({"The ", "slow "}).divergences.at(0).text_offset, 4);
}

TEST(TextTier, TracesHaveTheTokensBytesInPlaceOfIds) {
  RunBuilder run = SteadyRun(kAnswer);
  Completion other = kAnswer;
  other.logprobs[2].logprob = std::nextafter(-0.5, 0.0);
  Completion cut_otherwise = Writes({"The quick ", "brown ", "fox"});
  run.Batch({kAnswer, other}).Batch({kAnswer, cut_otherwise});
  const RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(request.unique_samples, 1);
  EXPECT_EQ(request.unique_traces, 3);
  ASSERT_EQ(request.divergences.size(), 2U);
  EXPECT_EQ(request.divergences[0].first_logprob_index, 2);
  EXPECT_EQ(request.divergences[0].text_offset, std::nullopt);
  EXPECT_EQ(request.divergences[0].cause, Cause::kNumeric);
  EXPECT_EQ(request.divergences[1].first_logprob_index, std::nullopt);
  EXPECT_THAT(request.reasons, Contains(HasSubstr("logprobs differ where texts agree")));
}

TEST(TextTier, LogprobsBeforeTheTextPartsTellTheCause) {
  RunBuilder run = SteadyRun(kAnswer);
  Completion other = kOther;
  other.logprobs[1].logprob = -0.53125;
  other.logprobs[3].logprob = -9.0;  // Of another context: says nothing.
  run.Batch({kAnswer, other});
  const Divergence divergence = run.JudgeFirst().divergences.at(0);
  EXPECT_EQ(divergence.text_offset, 11);
  EXPECT_EQ(divergence.first_logprob_index, 1);
  EXPECT_EQ(divergence.max_logprob_difference, 0.03125);
  EXPECT_EQ(divergence.cause, Cause::kNumeric);
}

TEST(TextTier, WhereSomeHaveIdsTheyDecide) {
  Completion answer = Says({1, 2, 3});
  answer.text = "The quick brown fox";
  RunBuilder run = SteadyRun(answer);
  run.Batch({answer, kOther});
  const RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(request.identity, TokenIdentity::kIds);
  EXPECT_EQ(request.unique_samples, 1);
  EXPECT_THAT(request.sample_counts, ElementsAre(20)) << "what came as text alone is not compared";
  EXPECT_EQ(request.verdict, Verdict::kInconclusive) << "so that it cannot pass";
  EXPECT_THAT(request.reasons,
              ElementsAre("1 of 21 answers came without token IDs, and were not compared"));
}

TEST(TextTier, AnswersWithoutTextAreNotTakenForEqual) {
  Completion without = kAnswer;
  without.text.reset();
  RunBuilder run = SteadyRun(kAnswer);
  run.Batch({kAnswer, without});
  for (const CriterionKind kind : {CriterionKind::kBitwise, CriterionKind::kText}) {
    run.plan().criterion.kind = kind;
    const RequestJudgement request = run.JudgeFirst();
    EXPECT_EQ(request.verdict, Verdict::kInconclusive);
    EXPECT_THAT(request.reasons,
                ElementsAre("1 of 21 answers came without text, and were not compared"));
  }
}

TEST(TextTier, TokenIdsAskedForByNameAreNotShownByText) {
  RunBuilder run = SteadyRun(kAnswer);
  run.plan().criterion.kind = CriterionKind::kTokenIds;
  const RequestJudgement request = run.JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kInconclusive);
  EXPECT_THAT(request.reasons,
              Contains(HasSubstr("the criterion is token_ids, and the target gave none")));
}

TEST(TextTier, EveryRenderingTellsTheByte) {
  const Report report = ReportOf(Differing());
  const std::vector<GateSuite> suites = SuitesOf(report, "");
  const std::string page = RenderHtml(report);
  const std::pair<const char*, std::string> renderings[] = {
      {"console", RenderConsole(report, false)},      {"junit", RenderJunit(suites)},
      {"annotations", RenderAnnotations(suites)},     {"markdown", RenderMarkdown(report, "")},
      {"html", page.substr(0, page.find("<script"))},
  };
  for (const auto& [name, text] : renderings) {
    EXPECT_THAT(text, HasSubstr("at byte 11")) << name;
    EXPECT_THAT(text, Not(HasSubstr("at output position"))) << name;
    EXPECT_THAT(text, Not(HasSubstr("token 0"))) << name;
  }
  EXPECT_NE(page.find("Texts differ from byte"), page.npos);
  EXPECT_EQ(page.find("class=\"picture\""), page.npos) << "its columns are tokens";
}

TEST(TextTier, ReportsAndTranscriptsKeepIt) {
  Completion odd = kOther;
  odd.token_bytes[2] = "\xff\x00";  // A token may be a part of a character.
  RunBuilder run = SteadyRun(kAnswer);
  run.Batch({kAnswer, odd});
  Report report = ReportOf(run);
  report.facts.capabilities.text_in = true;
  const std::string json = ReportToJson(report);
  const Report back = ReportFromJson(json, "r.json");
  EXPECT_EQ(ReportToJson(back), json);
  EXPECT_TRUE(back.facts.capabilities.text_in);
  const Completion& read = back.transcript.records.back().completions[1];
  EXPECT_EQ(read.token_bytes, odd.token_bytes);
  EXPECT_EQ(read.completion_tokens, 4);
  EXPECT_EQ(back.judgement.modes[0].requests[0].divergences[0].text_offset, 11);
  EXPECT_EQ(back.judgement.modes[0].requests[0].identity, TokenIdentity::kText);

  const StepRecord& record = run.transcript().records.back();
  const StepRecord line = ReadTranscriptRecord(TranscriptRecordLine(record), "t.jsonl");
  EXPECT_EQ(line.completions[1].token_bytes, odd.token_bytes);
  EXPECT_EQ(line.completions[1].completion_tokens, 4);
}

TEST(TextTier, ReportsAreComparedByText) {
  const Report before = ReportOf(SteadyRun(kAnswer));
  EXPECT_FALSE(DiffReports(before, before).Differ());
  EXPECT_THAT(RenderDiff(DiffReports(before, ReportOf(SteadyRun(kOther)))),
              HasSubstr("reference: texts differ, first at byte 11"));
}

TEST(TextTier, AReportWithIdsIsComparedByTheTextOfBoth) {
  Completion with_ids = Says({1, 2, 3, 4});
  const Report text = ReportOf(SteadyRun(kAnswer));
  EXPECT_THAT(RenderDiff(DiffReports(ReportOf(SteadyRun(with_ids)), text)),
              HasSubstr("token IDs in one, text alone in the other"));
  const auto gate = [&](const Completion& answer) {
    return CompareWithBaseline(text, ReportOf(SteadyRun(answer)), "").cases.at(0).verdict;
  };
  EXPECT_EQ(gate(with_ids), Verdict::kInconclusive);
  with_ids.text = *kAnswer.text;
  EXPECT_EQ(gate(with_ids), Verdict::kPass);
  with_ids.text = *kOther.text;
  EXPECT_EQ(gate(with_ids), Verdict::kFail);
  EXPECT_THAT(RenderDiff(DiffReports(ReportOf(SteadyRun(with_ids)), text)),
              HasSubstr("compared by text"));
}

}  // namespace
}  // namespace detcheck
