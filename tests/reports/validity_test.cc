#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "reports/console.h"
#include "reports/gate_cases.h"
#include "reports/judgement.h"
#include "tests/fixtures/error_of.h"
#include "tests/reports/rich_report.h"
#include "tests/reports/run_builder.h"

// Criteria on single texts: what the judgement makes of what was found of each text.

namespace detcheck {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Completion Text(const std::vector<TokenId>& ids, const std::string& text) {
  Completion answer = Says(ids);
  answer.text = text;
  return answer;
}

// Texts that begin with "ok" are valid, with "?" unknown, others invalid.
TextFindings FindingsOf(const Transcript& transcript) {
  TextFindings findings;
  for (const StepRecord& record : transcript.records) {
    for (const Completion& answer : record.completions) {
      if (!answer.text) continue;
      const bool is_valid = answer.text->starts_with("ok");
      const bool is_unknown = answer.text->starts_with("?");
      findings[*answer.text] = is_valid     ? TextFinding{Validity::kValid, ""}
                               : is_unknown ? TextFinding{Validity::kUnknown, "no answer"}
                                            : TextFinding{Validity::kInvalid, "no match"};
    }
  }
  return findings;
}

Judgement JudgeTexts(RunBuilder* run) {
  run->plan().criterion = ParseCriterion("regex:^ok");
  return Judge(run->plan(), run->transcript(), {}, FindingsOf(run->transcript()));
}

RequestJudgement FirstOf(const Judgement& judgement) {
  return judgement.modes.at(0).requests.at(0);
}

TEST(Validity, AllValidPasses) {
  RunBuilder run = SteadyRun(Text({1, 2}, "ok"));
  const Judgement judgement = JudgeTexts(&run);
  EXPECT_EQ(judgement.verdict, Verdict::kPass);
  EXPECT_EQ(judgement.criterion_digest, CriterionDigest(run.plan().criterion));
  EXPECT_EQ(FirstOf(judgement).validity->num_valid, 19);
  EXPECT_THAT(judgement.modes[0].notes,
              Contains("criterion regex:^ok: 19 valid texts, 0 invalid, 0 not judged"));
}

TEST(Validity, OtherTokensOfValidTextsAreToldAndDoNotFail) {
  RunBuilder run = SteadyRun(Text({1, 2}, "ok"));
  run.Batch({Text({1, 3}, "ok too"), WithLogprob(Text({1, 2}, "ok"), 1, -0.25)});
  const Judgement judgement = JudgeTexts(&run);
  EXPECT_EQ(judgement.verdict, Verdict::kPass);
  const RequestJudgement request = FirstOf(judgement);
  EXPECT_EQ(request.unique_samples, 2);
  EXPECT_EQ(request.unique_traces, 3);
  EXPECT_EQ(request.unique_texts, 2);
  ASSERT_EQ(request.divergences.size(), 2U);
  EXPECT_FALSE(request.divergences[0].breaks_criterion);
  EXPECT_FALSE(request.divergences[1].breaks_criterion);
}

TEST(Validity, WhereItDiffersThatIsTheDivergence) {
  RunBuilder run = SteadyRun(Text({1, 2}, "ok"));
  run.Batch({Text({1, 2}, "ok"), WithLogprob(Text({1, 3}, "bad"), 1, -0.25)});
  const Judgement judgement = JudgeTexts(&run);
  EXPECT_EQ(judgement.verdict, Verdict::kFail);
  EXPECT_TRUE(FoundNondeterminism(judgement));
  const RequestJudgement request = FirstOf(judgement);
  EXPECT_EQ(request.cause, Cause::kNumeric);
  EXPECT_THAT(request.reasons, Contains("validity differs: 20 texts are valid, 1 are not: no match "
                                        "(record 8, item 1)"));
  ASSERT_EQ(request.divergences.size(), 1U);
  EXPECT_TRUE(request.divergences[0].breaks_criterion);
  EXPECT_EQ(request.divergences[0].index, 1);
  EXPECT_NE(request.condition, "");
}

TEST(Validity, ColdSamplesThatDifferAreNotRepeatable) {
  RunBuilder run;
  run.Solos(3, Arm::kControlCold, Text({1, 2}, "ok"));
  run.Solos(2, Arm::kControlCold, Text({1, 3}, "bad"));
  const RequestJudgement request = FirstOf(JudgeTexts(&run));
  EXPECT_EQ(request.verdict, Verdict::kFail);
  EXPECT_EQ(request.cause, Cause::kNotRepeatable);
}

TEST(Validity, AllInvalidFailsWithoutNondeterminism) {
  RunBuilder run = SteadyRun(Text({1, 2}, "bad"));
  const Judgement judgement = JudgeTexts(&run);
  EXPECT_EQ(judgement.verdict, Verdict::kFail);
  EXPECT_FALSE(FoundNondeterminism(judgement));
  const RequestJudgement request = FirstOf(judgement);
  EXPECT_EQ(request.cause, Cause::kNone);
  EXPECT_THAT(request.reasons,
              ElementsAre("all texts are invalid alike, which is not nondeterminism: no match "
                          "(record 0, item 0)"));
  EXPECT_THAT(judgement.modes[0].reasons,
              ElementsAre("1 of 1 requests have texts that are all invalid"));
}

TEST(Validity, InvalidInDifferentWaysIsInvalidAlike) {
  RunBuilder run = SteadyRun(Text({1, 2}, "bad"));
  run.Batch({Text({1, 3}, "worse"), Text({1, 2}, "bad")});
  const Judgement judgement = JudgeTexts(&run);
  EXPECT_EQ(judgement.verdict, Verdict::kFail);
  EXPECT_FALSE(FoundNondeterminism(judgement));
  EXPECT_FALSE(FirstOf(judgement).divergences.at(0).breaks_criterion);
}

// The tokens say nothing of what a detokeniser made of them.
TEST(Validity, EqualTokensOfDifferentValidity) {
  RunBuilder run = SteadyRun(Text({1, 2}, "ok"));
  run.Batch({Text({1, 3}, "ok too"), Text({1, 3}, "bad")});
  const Judgement judgement = JudgeTexts(&run);
  EXPECT_EQ(judgement.verdict, Verdict::kFail);
  EXPECT_TRUE(FoundNondeterminism(judgement));
}

TEST(Validity, NeighboursNeedNotBeValidButAlike) {
  for (const bool differs : {false, true}) {
    RunBuilder run = SteadyRun(Text({1, 2}, "ok"));
    const int neighbour = run.AddRequest("n01");
    Step step = run.BatchOf(3);
    step.items[1].request = step.items[2].request = neighbour;
    step.items[1].subject = step.items[2].subject = false;
    StepRecord record;
    record.completions = {Text({1, 2}, "ok"), Text({7}, "bad"), Text({7}, "bad")};
    if (differs) record.completions[2] = Text({8}, "ok");
    for (Completion& answer : record.completions) answer.witness.formed_size = 3;
    run.Add(std::move(step), std::move(record));
    EXPECT_EQ(JudgeTexts(&run).verdict, differs ? Verdict::kFail : Verdict::kPass);
  }
}

TEST(Validity, WhatCouldNotBeJudgedIsInconclusive) {
  RunBuilder run = SteadyRun(Text({1, 2}, "ok"));
  run.Batch({Text({1, 3}, "?"), Text({1, 2}, "ok")});
  const RequestJudgement request = FirstOf(JudgeTexts(&run));
  EXPECT_EQ(request.verdict, Verdict::kInconclusive);
  EXPECT_THAT(request.reasons,
              ElementsAre("1 of 21 texts could not be judged: no answer (record 8, item 0)"));

  RunBuilder none = SteadyRun(Text({1, 2}, "?"));
  EXPECT_THAT(FirstOf(JudgeTexts(&none)).reasons, Contains("no text could be judged"));
}

// Else another reason that is allowed would allow it, too.
TEST(Validity, TheModeSaysWhatCouldNotBeJudged) {
  RunBuilder run = SteadyRun(Text({1, 2}, "ok"));
  run.Batch({Text({1, 3}, "?"), Text({1, 2}, "ok")});
  EXPECT_THAT(JudgeTexts(&run).modes[0].reasons,
              ElementsAre("q01: 1 of its texts could not be judged"));
}

TEST(Validity, TextsThatAreNotThereAreNotValid) {
  RunBuilder run = SteadyRun(Text({1, 2}, "ok"));
  run.Batch({Says({1, 2}), Text({1, 2}, "ok")});
  const Judgement judgement = JudgeTexts(&run);
  EXPECT_EQ(judgement.verdict, Verdict::kInconclusive);
  EXPECT_THAT(FirstOf(judgement).reasons,
              ElementsAre("1 of 21 answers came without text, and were not compared"));
}

TEST(Validity, ADivergenceTellsBeforeWhatCouldNotBeJudged) {
  RunBuilder run = SteadyRun(Text({1, 2}, "?"));
  run.Batch({Text({1, 3}, "ok"), Text({1, 4}, "bad")});
  EXPECT_EQ(FirstOf(JudgeTexts(&run)).verdict, Verdict::kFail);
}

TEST(Validity, ATargetWithoutTextIsInconclusive) {
  RunBuilder run = SteadyRun(Says({1, 2}));
  const Judgement judgement = JudgeTexts(&run);
  EXPECT_EQ(judgement.verdict, Verdict::kInconclusive);
  EXPECT_THAT(FirstOf(judgement).reasons,
              Contains("the criterion is of texts, and the target gave none"));
}

TEST(Validity, AbortedAnswersAreNotJudged) {
  RunBuilder run = SteadyRun(Text({1, 2}, "ok"));
  run.Batch({Aborted(Text({1, 2}, "o"), 1), Text({1, 2}, "ok")});
  run.LastStep().items[0].abort_after_tokens = 1;
  const Judgement judgement = JudgeTexts(&run);
  EXPECT_EQ(judgement.verdict, Verdict::kPass);
  EXPECT_EQ(FirstOf(judgement).validity->num_invalid, 0);
}

Report TextReport(RunBuilder run) {
  run.plan().criterion = ParseCriterion("regex:^ok");
  Report report = ReportOf(run);
  report.texts = FindingsOf(report.transcript);
  JudgeReport(&report);
  return report;
}

TEST(Validity, TheConsoleTellsWrongFromNondeterministic) {
  const std::string wrong = RenderConsole(TextReport(SteadyRun(Text({1, 2}, "bad"))), false);
  EXPECT_THAT(wrong, HasSubstr("Requirement: Every text of a request meets the criterion."));
  EXPECT_THAT(wrong, HasSubstr("Valid texts: 0 of 19"));
  EXPECT_THAT(wrong, HasSubstr("Verdict: FAIL: equal answers that do not meet the criterion"));
  EXPECT_THAT(wrong, Not(HasSubstr("Cause:")));

  RunBuilder run = SteadyRun(Text({1, 2}, "ok"));
  run.Batch({Text({1, 2}, "ok"), Text({1, 3}, "bad")});
  const std::string differs = RenderConsole(TextReport(run), false);
  EXPECT_THAT(differs, HasSubstr("Verdict: FAIL: nondeterminism found"));
  EXPECT_THAT(differs, HasSubstr("Valid texts: 20 of 21"));
}

TEST(Validity, TheCaseOfACiSystem) {
  const std::vector<GateSuite> suites = SuitesOf(TextReport(SteadyRun(Text({1}, "bad"))), "");
  const GateCase& one = suites.at(0).cases.at(0);
  EXPECT_EQ(one.kind, "invalid");
  EXPECT_EQ(one.message, "(all texts invalid alike)");
}

TEST(Validity, ReportsKeepWhatWasFound) {
  RunBuilder run = SteadyRun(Text({1, 2}, "ok"));
  run.Batch({Text({1, 3}, "bad"), Text({1, 4}, "?"), Says({5})});
  const Report report = TextReport(run);
  const std::string json = ReportToJson(report);
  const Report read = ReportFromJson(json, "r.json");
  EXPECT_EQ(read.texts, report.texts);
  EXPECT_EQ(read.plan.criterion, report.plan.criterion);
  EXPECT_EQ(read.judgement.criterion_digest, report.judgement.criterion_digest);
  EXPECT_EQ(read.judgement.modes[0].requests[0].validity->num_unknown, 1);
  EXPECT_EQ(ReportToJson(read), json);
  // Judged again of what the report keeps, without looking at any text.
  EXPECT_EQ(Judge(read.plan, read.transcript, read.subject, read.texts).verdict,
            report.judgement.verdict);
}

TEST(Validity, ReportsThatContradictThemselves) {
  RunBuilder run = SteadyRun(Text({1, 2}, "ok"));
  run.Batch({Text({1, 3}, "bad"), Text({1, 4}, "bad")});
  const auto error_of = [&](const std::string& from, const std::string& to) {
    std::string json = ReportToJson(TextReport(run));
    json.replace(json.rfind(from), from.size(), to);
    return ErrorOf([&] { ReportFromJson(json, "r.json"); }, ErrorCode::kInput);
  };
  EXPECT_EQ(error_of(R"("validity":"invalid")", R"("validity":"valid")"),
            "r.json: outputs[2].validity: is not what another output of that text has");
  EXPECT_EQ(error_of(R"("text":"bad",)", ""),
            "r.json: outputs[2].validity: of an output without text");
  EXPECT_EQ(error_of(R"("validity":"invalid")", R"("validity":"maybe")"),
            "r.json: outputs[2].validity: \"maybe\" is none of valid, invalid, unknown");
}

}  // namespace
}  // namespace detcheck
