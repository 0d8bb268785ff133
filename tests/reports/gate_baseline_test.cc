#include "reports/gate_baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/rich_report.h"
#include "tests/reports/verdict_reports.h"

namespace detcheck {
namespace {

using ::testing::HasSubstr;

const Completion kAnswer = Says({1, 2, 3, 4, 5, 6, 7, 8});

Report Steady(const Completion& answer) {
  return ReportOf(SteadyRun(answer));
}

// The one case of a comparison of reports with one row.
GateCase Compared(const Report& report, const Report& baseline) {
  const GateSuite suite = CompareWithBaseline(report, baseline, "");
  EXPECT_EQ(suite.name, "detcheck.baseline");
  EXPECT_EQ(suite.cases.size(), 1u);
  return suite.cases.at(0);
}

TEST(Baseline, EqualAnswersPass) {
  EXPECT_EQ(Compared(Steady(kAnswer), Steady(kAnswer)).verdict, Verdict::kPass);
}

TEST(Baseline, AFailingRunMayStillHaveTheReferenceOfTheBaseline) {
  EXPECT_EQ(Compared(VerdictReport("fail"), VerdictReport("pass")).verdict, Verdict::kPass);
}

TEST(Baseline, OtherTokensFailAndChangesAreNamed) {
  Report report = Steady(Says({1, 2, 3, 9, 5, 6, 7, 8}));
  Report baseline = Steady(kAnswer);
  report.subject.push_back({"engine.version", "2", FieldSource::kObserved});
  baseline.subject.push_back({"engine.version", "1", FieldSource::kObserved});
  const GateCase one = Compared(report, baseline);
  EXPECT_EQ(one.verdict, Verdict::kFail);
  EXPECT_EQ(one.name, "single: q01");
  EXPECT_THAT(one.message, HasSubstr("first at output position 3 (absolute 15): 9, not 4"));
  EXPECT_THAT(one.detail, HasSubstr("changed: engine.version: '2', not '1'"));
}

TEST(Baseline, OtherFinishReasonFails) {
  Completion stopped = kAnswer;
  stopped.finish_reason = FinishReason::kStop;
  EXPECT_EQ(Compared(Steady(stopped), Steady(kAnswer)).verdict, Verdict::kFail);
}

TEST(Baseline, BitsThatOneOfTheTwoDoesNotTellAreNotTakenForEqual) {
  const Report with = Steady(kAnswer);
  const Report without = Steady(SaysOnly(kAnswer.token_ids));
  EXPECT_EQ(Compared(without, with).verdict, Verdict::kInconclusive);
  EXPECT_EQ(Compared(with, without).verdict, Verdict::kInconclusive);
  EXPECT_EQ(Compared(without, without).verdict, Verdict::kPass);
  Report by_tokens = without;
  by_tokens.plan.criterion.kind = CriterionKind::kTokenIds;
  EXPECT_EQ(Compared(by_tokens, with).verdict, Verdict::kPass);
}

TEST(Baseline, LogprobBitsCountWithTheCriterionBitwise) {
  RunBuilder run = SteadyRun(WithLogprob(kAnswer, 2, -0.50000001));
  EXPECT_EQ(Compared(ReportOf(run), Steady(kAnswer)).verdict, Verdict::kFail);
  run.plan().criterion.kind = CriterionKind::kTokenIds;
  EXPECT_EQ(Compared(ReportOf(run), Steady(kAnswer)).verdict, Verdict::kPass);
}

TEST(Baseline, TextsCountWithTheCriterionText) {
  Completion said = kAnswer;
  said.text = "fox";
  Completion other = Says({1, 2, 3, 9});
  other.text = "fox";
  RunBuilder run = SteadyRun(other);
  run.plan().criterion.kind = CriterionKind::kText;
  EXPECT_EQ(Compared(ReportOf(run), Steady(said)).verdict, Verdict::kPass);
  said.text = "hare";
  EXPECT_EQ(Compared(ReportOf(run), Steady(said)).verdict, Verdict::kFail);
}

TEST(Baseline, NoMatchingRowIsInconclusive) {
  RunBuilder run = SteadyRun(kAnswer);
  run.plan().requests[0].max_new_tokens = 9;
  const GateCase one = Compared(ReportOf(run), Steady(kAnswer));
  EXPECT_EQ(one.verdict, Verdict::kInconclusive);
  EXPECT_EQ(one.message, "no matching row in the baseline");
  EXPECT_EQ(Compared(Steady(kAnswer), VerdictReport("fail")).message,
            "the baseline's own row did not pass");
  EXPECT_EQ(Compared(VerdictReport("unsupported"), Steady(kAnswer)).message,
            "no row to hold against the baseline");
}

Report On(const char* engine, const char* mode, const char* field, const char* value) {
  Report report = Steady(kAnswer);
  report.subject = {{"engine.name", engine, FieldSource::kObserved},
                    {"engine.mode", mode, FieldSource::kObserved},
                    {field, value, FieldSource::kObserved}};
  return report;
}

TEST(Baseline, HardwareIsPartOfTheKeyButForTheDeterministicCpuEngine) {
  const auto verdict = [](const char* engine, const char* mode, const char* field) {
    return Compared(On(engine, mode, field, "one"), On(engine, mode, field, "other")).verdict;
  };
  EXPECT_EQ(verdict("detcheck-cpu", "deterministic", "device.cpu_model"), Verdict::kPass);
  EXPECT_EQ(verdict("detcheck-cpu", "default", "device.cpu_model"), Verdict::kInconclusive);
  EXPECT_EQ(verdict("sglang", "deterministic", "gpu.name"), Verdict::kInconclusive);
  EXPECT_EQ(verdict("detcheck-cpu", "deterministic", "model.dtype"), Verdict::kInconclusive);
  EXPECT_EQ(verdict("sglang", "", "engine.version"), Verdict::kPass);
}

}  // namespace
}  // namespace detcheck
