#include "reports/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/rich_report.h"
#include "tests/reports/verdict_reports.h"

namespace detcheck {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Completion kAnswer = Says({1, 2, 3, 4, 5, 6, 7, 8});

Report Steady(const Completion& answer) {
  return ReportOf(SteadyRun(answer));
}

TEST(Diff, EqualReports) {
  const ReportDiff diff = DiffReports(Steady(kAnswer), Steady(kAnswer));
  EXPECT_FALSE(diff.Differ());
  EXPECT_EQ(RenderDiff(diff), "Verdict: pass in both\nEqual: 1 request compared, 0 changed\n");
}

TEST(Diff, ManifestsAreSplitByWhatTheyCanExplain) {
  const Report a = Steady(kAnswer);
  Report b = a;
  b.subject[1] = {"model.revision", "abc", FieldSource::kClaimed};
  b.subject.push_back({"gpu.driver", "570", FieldSource::kObserved});
  b.harness.push_back({"kernel", "Linux 6", FieldSource::kObserved});
  const ReportDiff diff = DiffReports(a, b);
  EXPECT_FALSE(diff.Differ());
  EXPECT_THAT(RenderDiff(diff), HasSubstr("Changes that can explain others\n"
                                          "  model.revision: not known -> 'abc'\n"
                                          "  gpu.driver: not known -> '570'\n"
                                          "Informational changes\n"
                                          "  kernel: not known -> 'Linux 6'\n"));
}

TEST(Diff, TokensDiffer) {
  const ReportDiff diff = DiffReports(Steady(kAnswer), Steady(Says({1, 2, 3, 9, 5, 6, 7, 8})));
  EXPECT_TRUE(diff.Differ());
  ASSERT_EQ(diff.rows.size(), 1u);
  EXPECT_THAT(diff.rows[0].lines,
              ElementsAre(HasSubstr("reference: tokens differ, first at output position 3 "
                                    "(absolute 15): 9, not 4"),
                          "unique samples: 1 before, 1 now, 0 in both",
                          "unique logprob traces: 1 before, 1 now, 0 in both"));
}

TEST(Diff, OnlyLogprobsDiffer) {
  const ReportDiff diff =
      DiffReports(Steady(kAnswer), Steady(WithLogprob(kAnswer, 2, -0.50000001)));
  ASSERT_EQ(diff.rows.size(), 1u);
  EXPECT_THAT(diff.rows[0].lines,
              ElementsAre(HasSubstr("reference: logprobs differ, first at output position 2"),
                          "unique logprob traces: 1 before, 1 now, 0 in both"));
}

TEST(Diff, VerdictsAndFurtherOutputs) {
  const ReportDiff diff = DiffReports(VerdictReport("pass"), VerdictReport("fail"));
  ASSERT_EQ(diff.rows.size(), 1u);
  EXPECT_THAT(diff.rows[0].lines,
              ElementsAre("verdict: pass -> fail", "unique samples: 1 before, 2 now, 1 in both",
                          "unique logprob traces: 1 before, 2 now, 1 in both"));
  EXPECT_THAT(RenderDiff(diff), HasSubstr("Verdict: pass -> fail\nDiffer: 1 request"));
}

TEST(Diff, LogprobsThatOnlyOneHas) {
  const ReportDiff diff = DiffReports(Steady(kAnswer), Steady(SaysOnly(kAnswer.token_ids)));
  ASSERT_EQ(diff.rows.size(), 1u);
  EXPECT_THAT(diff.rows[0].lines, ElementsAre("logprobs: only before"));
}

TEST(Diff, DifferentPrompts) {
  RunBuilder run = SteadyRun(kAnswer);
  const int other = run.AddRequest("q02");
  run.Batch({kAnswer, kAnswer});
  for (PlannedItem& item : run.LastStep().items) item.request = other;
  run.LastRecord().prompt_digests.assign(2, std::string(64, 'f'));
  const ReportDiff diff = DiffReports(Steady(kAnswer), ReportOf(run));
  EXPECT_FALSE(diff.SamePrompts());
  EXPECT_THAT(diff.only_in_a, IsEmpty());
  EXPECT_THAT(diff.only_in_b, ElementsAre("q02"));
  EXPECT_EQ(DifferentPromptsInWords(diff),
            "reports of different prompts: only in the second q02; with --allow-different-prompts "
            "the 1 prompt in both could be compared");
  EXPECT_EQ(diff.num_compared, 1);
}

TEST(Diff, OtherLimitsAreAnotherRequest) {
  RunBuilder run = SteadyRun(kAnswer);
  run.plan().requests[0].max_new_tokens = 9;
  const ReportDiff diff = DiffReports(Steady(kAnswer), ReportOf(run));
  EXPECT_TRUE(diff.SamePrompts());
  ASSERT_EQ(diff.rows.size(), 2u);
  EXPECT_EQ(diff.rows[0].lines[0], "gone: no such request now");
  EXPECT_EQ(diff.rows[1].lines[0], "new: no such request before");
}

TEST(Diff, NothingAnswered) {
  EXPECT_FALSE(DiffReports(VerdictReport("nothing"), VerdictReport("nothing")).Differ());
}

}  // namespace
}  // namespace detcheck
