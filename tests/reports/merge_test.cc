#include "reports/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "fixtures/shard.h"
#include "tests/fixtures/error_of.h"
#include "tests/reports/rich_report.h"
#include "tests/reports/run_builder.h"

namespace detcheck {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Completion kAnswer = Says({1, 2, 3, 4, 5, 6, 7, 8});
const Completion kOther = Says({1, 2, 3, 9, 5, 6, 7, 8});

// What shard `index` of two gives of a control arm and batches of 2, 4 and 8.
ShardReport ShardSaying(int index, const Completion& answer,
                        const Completion& in_batches = kAnswer) {
  RunBuilder run;
  run.Solos(5, Arm::kControlCold, answer);
  for (const int size : {2, 4, 8}) run.Batch(std::vector<Completion>(size, in_batches));
  Report report = ReportOf(run);
  report.plan = ShardOf(report.plan, index, 2);
  const std::vector<bool> is_to_run = IsToRun(report.plan);
  std::erase_if(report.transcript.records,
                [&](const StepRecord& record) { return !is_to_run[record.step]; });
  report.transcript.plan_digest = PlanDigest(report.plan);
  JudgeReport(&report);
  return {"s" + std::to_string(index) + ".json", std::move(report)};
}

std::vector<ShardReport> BothShards() {
  return {ShardSaying(2, kAnswer), ShardSaying(1, kAnswer)};
}

std::string Refusal(const std::function<void(std::vector<ShardReport>*)>& change) {
  std::vector<ShardReport> shards = BothShards();
  change(&shards);
  return ErrorOf([&] { MergeShards(std::move(shards)); });
}

TEST(Merge, IsTheWholePlan) {
  const Report whole = ReportOf(SteadyRun(kAnswer));
  const Report merged = MergeShards(BothShards());
  EXPECT_EQ(merged.plan, whole.plan);
  EXPECT_EQ(merged.transcript.plan_digest, PlanDigest(whole.plan));
  EXPECT_EQ(merged.judgement.verdict, Verdict::kPass);
  EXPECT_EQ(merged.judgement.modes[0].num_batches, whole.judgement.modes[0].num_batches);
  EXPECT_TRUE(merged.transcript.complete);
  EXPECT_EQ(ReportFromJson(ReportToJson(merged), "merged").judgement.verdict, Verdict::kPass);
}

TEST(Merge, ADivergenceOfOneShardFails) {
  const Report merged = MergeShards({ShardSaying(1, kAnswer), ShardSaying(2, kAnswer, kOther)});
  EXPECT_EQ(merged.judgement.verdict, Verdict::kFail);
  EXPECT_EQ(merged.judgement.modes[0].requests[0].unique_samples, 2);
}

// Each shard repeats, and they do not agree: one target was started twice.
TEST(Merge, ShardsThatDisagreeAreAFindingOfTheRestart) {
  std::vector<ShardReport> shards = {ShardSaying(1, kAnswer, kAnswer),
                                     ShardSaying(2, kOther, kOther)};
  for (ShardReport& shard : shards) {
    EXPECT_EQ(shard.report.judgement.verdict, Verdict::kPass);
    shard.report.facts.capabilities.restart = true;
  }
  const Report merged = MergeShards(std::move(shards));
  EXPECT_EQ(merged.judgement.verdict, Verdict::kFail);
  EXPECT_EQ(merged.judgement.modes[0].requests[0].condition_kind, ConditionKind::kRestart);
  EXPECT_EQ(NumLaunches(merged.transcript), 2);
}

TEST(Merge, AServerThatSaysWhenItStartedIsOneStartOrTwo) {
  const auto num_launches = [](const std::string& second) {
    std::vector<ShardReport> shards = BothShards();
    for (ShardReport& shard : shards) {
      shard.report.subject.push_back({"process.start", "10", FieldSource::kClaimed});
    }
    shards[0].report.subject.back().value = second;
    return NumLaunches(MergeShards(std::move(shards)).transcript);
  };
  EXPECT_EQ(num_launches("10"), 1);
  EXPECT_EQ(num_launches("20"), 2);
}

TEST(Merge, TimesGoOn) {
  std::vector<ShardReport> shards = BothShards();
  for (ShardReport& shard : shards) {
    shard.report.run.duration_s = 2.0;
    for (StepRecord& record : shard.report.transcript.records) {
      record.started_s = 1.0;
      record.ended_s = 2.0;
    }
  }
  const Report merged = MergeShards(std::move(shards));
  EXPECT_EQ(merged.run.duration_s, 4.0);
  EXPECT_EQ(merged.transcript.records.front().ended_s, 2.0);
  EXPECT_EQ(merged.transcript.records.back().ended_s, 4.0);
}

TEST(Merge, AnUnfinishedShardIsTold) {
  std::vector<ShardReport> shards = BothShards();
  shards[0].report.transcript.complete = false;
  shards[0].report.transcript.ended_early = "target lost: refused";
  const Report merged = MergeShards(std::move(shards));
  EXPECT_EQ(merged.transcript.ended_early, "target lost: refused (shard 2)");
  EXPECT_EQ(merged.judgement.verdict, Verdict::kInconclusive);
}

TEST(Merge, ATargetThatChangedInOneShardIsTold) {
  std::vector<ShardReport> shards = BothShards();
  for (ShardReport& shard : shards) {
    shard.report.transcript.identity = shard.report.transcript.identity_after = "a";
  }
  shards[0].report.transcript.identity_after = "b";
  EXPECT_THAT(MergeShards(std::move(shards)).judgement.reasons,
              ElementsAre("the target is not what it was when the run began"));
}

// Of three shards: what could not be read again hides no change, whatever the order.
TEST(Merge, AChangeIsToldBeforeWhatCouldNotBeRead) {
  const auto after = [](const std::string& first, const std::string& second) {
    std::vector<ShardReport> shards = BothShards();
    for (ShardReport& shard : shards) shard.report.transcript.identity = "a";
    shards[1].report.transcript.identity_after = first;
    shards[0].report.transcript.identity_after = second;
    return MergeShards(std::move(shards));
  };
  for (const Report& merged : {after("", "b"), after("b", "")}) {
    EXPECT_EQ(merged.judgement.verdict, Verdict::kInconclusive);
    EXPECT_THAT(merged.judgement.reasons,
                ElementsAre("the target is not what it was when the run began"));
  }
  EXPECT_THAT(after("", "a").judgement.notes,
              Contains("what the target is could not be read again after the run"));
  EXPECT_THAT(after("a", "").judgement.notes,
              Contains("what the target is could not be read again after the run"));
}

TEST(Merge, AChangeOfOneReplicaIsToldOfIt) {
  std::vector<ShardReport> shards = BothShards();
  for (ShardReport& shard : shards) {
    Report& report = shard.report;
    const size_t num_records = report.transcript.records.size();
    for (size_t i = 0; i < num_records; ++i) {
      report.transcript.records.push_back(report.transcript.records[i]);
      report.transcript.records.back().replica = 1;
    }
    report.replicas = {{"1", report.subject, report.facts, ""},
                       {"2", report.subject, report.facts, ""}};
    report.transcript.identity = report.transcript.identity_after = "a a";
  }
  shards[1].report.transcript.identity_after = "a -";
  shards[0].report.transcript.identity_after = "a b";
  const Report merged = MergeShards(std::move(shards));
  EXPECT_EQ(merged.transcript.identity_after, "a b");
  EXPECT_THAT(merged.judgement.reasons,
              ElementsAre("replica 2: the target is not what it was when the run began"));
}

// The embedded engine is part of detcheck; of a server the harness is not what is tested.
TEST(Merge, BuildsOfTheEmbeddedEngineAreTargets) {
  const auto shards = [](const std::string& engine) {
    std::vector<ShardReport> both = BothShards();
    for (ShardReport& shard : both) {
      shard.report.subject[0].value = engine;
      shard.report.harness.push_back({"detcheck.git_revision", "abc", FieldSource::kObserved});
    }
    both[0].report.harness.back().value = "def";
    return both;
  };
  EXPECT_EQ(ErrorOf([&] { MergeShards(shards("detcheck-cpu")); }),
            "s1.json: harness.detcheck.git_revision: another target: 'abc', that of s2.json is "
            "'def'");
  EXPECT_EQ(MergeShards(shards("vllm")).harness.back().value, "shard 1: abc; shard 2: def");
}

TEST(Merge, TheRequiredScopeIsAskedOfAllTogether) {
  std::vector<ShardReport> shards = BothShards();
  for (ShardReport& shard : shards) {
    shard.report.plan.required_scope = {ScopeWord::kHistory};
    JudgeReport(&shard.report);
    EXPECT_EQ(shard.report.judgement.verdict, Verdict::kPass);
  }
  EXPECT_EQ(MergeShards(std::move(shards)).judgement.verdict, Verdict::kInconclusive);
}

TEST(Merge, WhatShardsFindOfOneTextMustAgree) {
  std::vector<ShardReport> shards = BothShards();
  shards[0].report.texts["a"] = {Validity::kValid, ""};
  shards[1].report.texts["a"] = {Validity::kInvalid, "no"};
  shards[1].report.texts["b"] = {Validity::kValid, ""};
  const Report merged = MergeShards(std::move(shards));
  EXPECT_EQ(merged.texts.at("a").validity, Validity::kUnknown);
  EXPECT_EQ(merged.texts.at("b").validity, Validity::kValid);
}

TEST(Merge, RefusesWhatDoesNotBelongTogether) {
  EXPECT_EQ(Refusal([](auto* s) { s->pop_back(); }), "s2.json: plan.shard: missing of 2 shards: 1");
  EXPECT_EQ(Refusal([](auto* s) { s->push_back(ShardSaying(1, kAnswer)); }),
            "s1.json: plan.shard.index: 1 is s1.json already");
  EXPECT_EQ(Refusal([](auto* s) { (*s)[1].report.plan.shard.reset(); }),
            "s1.json: plan.shard: is missing: --shard did not make it");
  EXPECT_EQ(Refusal([](auto* s) { (*s)[1].report.plan.shard->count = 3; }),
            "s1.json: plan.shard.count: 3, that of s2.json is 2");
  EXPECT_EQ(Refusal([](auto* s) { (*s)[1].report.plan.plan_seed = 7; }),
            "s1.json: plan: is not that of s2.json");
  EXPECT_EQ(Refusal([](auto* s) { (*s)[1].report.plan.criterion.kind = CriterionKind::kTokenIds; }),
            "s1.json: plan.criterion: token_ids, that of s2.json is bitwise");
  EXPECT_THAT(Refusal([](auto* s) {
                (*s)[1].report.subject.push_back({"engine.commit", "abc", FieldSource::kClaimed});
              }),
              HasSubstr("s1.json: subject.engine.commit: another target: 'abc', that of s2.json"));
  EXPECT_EQ(Refusal([](auto* s) { (*s)[0].report.plan.shard->steps.pop_back(); }),
            "s2.json: plan.shard.steps: step 7 is in no shard");
}

}  // namespace
}  // namespace detcheck
