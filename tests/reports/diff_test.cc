#include "reports/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/golden.h"
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

TEST(Diff, TheEnvironmentCanExplainWhereTheEngineIsPartOfDetcheck) {
  Report a = Steady(kAnswer);
  Report b = a;
  b.harness.push_back({"env.OMP_NUM_THREADS", "4", FieldSource::kObserved});
  EXPECT_THAT(RenderDiff(DiffReports(a, b)), HasSubstr("Informational changes\n  env.OMP"));
  a.subject[0].value = b.subject[0].value = "detcheck-cpu";
  EXPECT_THAT(RenderDiff(DiffReports(a, b)), HasSubstr("can explain others\n  env.OMP"));
}

TEST(Diff, WhatTheReportsWereJudgedByIsListed) {
  const auto protocol = [](const std::string& name) {
    return ProtocolFromJson(R"({"schema":"detcheck.protocol/1","name":")" + name +
                                R"(","modes":["single"],"criterion":"bitwise",)"
                                R"("required_scope":[]})",
                            "p.json");
  };
  Report a = Steady(kAnswer);
  Report b = a;
  a.plan.required_scope = {ScopeWord::kBatch, ScopeWord::kRestart};
  b.protocol = protocol("mine");
  const std::string digest = ProtocolDigest(*b.protocol).substr(0, 12);
  EXPECT_THAT(RenderDiff(DiffReports(a, b)),
              HasSubstr("Changes that can explain others\n"
                        "  protocol: 'none' -> 'mine (" +
                        digest + ")'\n  required scope: 'batch,restart' -> 'none'\n"));
  a = b;
  EXPECT_EQ(DiffReports(a, b).can_explain.size(), 0u);
  b.protocol->fixture_files["f.json"] = std::string(64, 'a');
  EXPECT_THAT(RenderDiff(DiffReports(a, b)), HasSubstr("  protocol: 'mine (" + digest));
  b.protocol = a.protocol;
  b.plan.criterion.kind = CriterionKind::kTokenIds;
  EXPECT_THAT(RenderDiff(DiffReports(a, b)), HasSubstr("  criterion: 'bitwise' -> 'token_ids'"));
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
            "the 1 prompt in both could be compared: q01");
  EXPECT_EQ(diff.num_compared, 1);
}

TEST(Diff, OtherSamplingAndLimitsAreTheSamePromptChanged) {
  RunBuilder run = SteadyRun(Says({1, 2, 3, 9, 5, 6, 7, 8}));
  run.plan().requests[0].max_new_tokens = 9;
  run.plan().requests[0].sampling.temperature = 0.1;
  const ReportDiff diff = DiffReports(Steady(kAnswer), ReportOf(run));
  EXPECT_TRUE(diff.SamePrompts());
  EXPECT_TRUE(diff.Differ());
  EXPECT_EQ(diff.num_compared, 0);
  ASSERT_EQ(diff.rows.size(), 1u);
  EXPECT_THAT(diff.rows[0].lines,
              ElementsAre("same prompt, other sampling or limits: temperature 0 -> 0.1, "
                          "max_new_tokens 8 -> 9",
                          "answers not compared (--compare-changed-requests does)"));
  EXPECT_THAT(RenderDiff(diff), HasSubstr("\nDiffer: 0 requests compared, 1 changed, 1 with other "
                                          "sampling or limits not compared\n"));
}

TEST(Diff, ChangedRequestsAreComparedWhereAskedFor) {
  RunBuilder run = SteadyRun(Says({1, 2, 3, 9, 5, 6, 7, 8}));
  run.plan().requests[0].sampling.seed = 43;
  const ReportDiff diff = DiffReports(Steady(kAnswer), ReportOf(run), true);
  EXPECT_EQ(diff.num_compared, 1);
  EXPECT_EQ(diff.num_not_compared, 0);
  ASSERT_EQ(diff.rows.size(), 1u);
  ASSERT_GE(diff.rows[0].lines.size(), 2u);
  EXPECT_EQ(diff.rows[0].lines[0], "same prompt, other sampling or limits: seed 42 -> 43");
  EXPECT_THAT(diff.rows[0].lines[1], HasSubstr("reference: tokens differ"));
}

// Requests of one prompt: one that is the same in both is nobody's change, and names decide before
// the order does.
TEST(Diff, ChangedRequestsOfOnePromptArePairedByName) {
  const auto report = [](const std::vector<std::pair<std::string, uint64_t>>& requests) {
    RunBuilder run;
    for (const auto& [id, seed] : requests) {
      const int request = run.AddRequest(id);
      run.plan().requests[static_cast<size_t>(request)].sampling.seed = seed;
      run.Solos(2, Arm::kControlCold, kAnswer);
      const size_t num_steps = run.plan().steps.size();
      run.plan().steps[num_steps - 1].items[0].request = request;
      run.plan().steps[num_steps - 2].items[0].request = request;
    }
    return ReportOf(run);
  };
  const ReportDiff diff = DiffReports(report({{"a", 1}, {"b", 2}, {"c", 3}}),
                                      report({{"x", 1}, {"c", 4}, {"y", 5}, {"z", 6}}));
  ASSERT_EQ(diff.rows.size(), 3u);
  EXPECT_EQ(diff.num_compared, 1);
  EXPECT_EQ(diff.rows[0].id, "b");
  EXPECT_THAT(diff.rows[0].lines[0], HasSubstr("seed 2 -> 5"));
  EXPECT_EQ(diff.rows[1].id, "c");
  EXPECT_THAT(diff.rows[1].lines[0], HasSubstr("seed 3 -> 4"));
  EXPECT_EQ(diff.rows[2].id, "z");
  EXPECT_EQ(diff.rows[2].lines[0], "new: no such request before");
}

// One request of each name, of a prompt of its own; the one named `other` answers another thing,
// the one named q02 has that limit.
Report Named(const std::vector<std::string>& ids, const std::string& other, int max_new_tokens) {
  RunBuilder run;
  for (const std::string& id : ids) {
    const int request = run.AddRequest(id);
    if (id == "q02")
      run.plan().requests[static_cast<size_t>(request)].max_new_tokens = max_new_tokens;
    for (int i = 0; i < 2; ++i) {
      run.Solo(Arm::kControlCold, id == other ? Says({1, 2, 3, 9, 5, 6, 7, 8}) : kAnswer);
      run.LastStep().items[0].request = request;
      run.LastRecord().prompt_digests[0] = std::string(64, id.back());
    }
  }
  return ReportOf(run);
}

// All that there can be, with foreign text in it: tests/reports/golden/diff.txt.
TEST(Diff, Rendered) {
  Report a = Named({"q01", "q02", "q03", "q04"}, "", 8);
  Report b = Named({"q01", "q02", "q03", "q05"}, "q03", 16);
  b.subject[1] = {"model.revision", HostileText(), FieldSource::kClaimed};
  b.harness.push_back({"kernel", "Linux 6", FieldSource::kObserved});
  b.judgement.verdict = Verdict::kFail;
  ExpectGolden("diff.txt", RenderDiff(DiffReports(a, b)));
}

TEST(Diff, NothingAnswered) {
  EXPECT_FALSE(DiffReports(VerdictReport("nothing"), VerdictReport("nothing")).Differ());
}

}  // namespace
}  // namespace detcheck
