#include "cli/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/fixture.h"
#include "fixtures/shard.h"
#include "reports/manifest_fields.h"
#include "tests/cli/testing.h"

namespace detcheck {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

FakeBackend Fake(Fault fault, int dies_at = 0) {
  FakeOptions options;
  options.fault = fault;
  options.dies_at = dies_at;
  return FakeBackend(options);
}

// Sets the flag once the step has answered so many tokens.
class StopAfterTokens : public RunObserver {
 public:
  StopAfterTokens(std::atomic<bool>* stop, int step, int num_tokens)
      : stop_(stop), step_(step), num_tokens_(num_tokens) {}
  void OnStepStarted(int step) override { current_ = step; }
  void OnTokens(int num_tokens) override {
    if (current_ == step_ && num_tokens >= num_tokens_) *stop_ = true;
  }
  void OnStepEnded(int) override {}

 private:
  std::atomic<bool>* stop_;
  int step_;
  int num_tokens_;
  int current_ = -1;
};

TEST(Runner, RecordsEveryStepInOrder) {
  SmallPlan small;
  small.Add(StepKind::kFlush, Arm::kPrepare);
  small.AddBatch(1);
  small.AddBatch(3);
  small.Add(StepKind::kWait).wait_seconds = 0.01;
  Step& score = small.Add(StepKind::kScore);
  score.score_top_logprobs = 2;
  FakeBackend backend = Fake(Fault::kNone);
  const TestRun run = RunPlan(small.plan, &backend);

  EXPECT_EQ(run.end, RunEnd::kComplete);
  EXPECT_TRUE(run.transcript.complete);
  EXPECT_THAT(run.transcript.ended_early, IsEmpty());
  EXPECT_EQ(run.transcript.identity_after, IdentityDigest(backend.Describe().subject));
  const std::vector<StepRecord>& records = run.transcript.records;
  ASSERT_THAT(records, SizeIs(5));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(records[i].step, i);
    EXPECT_EQ(records[i].attempt, 0);
    EXPECT_EQ(records[i].launch, 0);
    EXPECT_FALSE(records[i].voided) << *records[i].voided;
    EXPECT_LE(records[i].started_s, records[i].ended_s);
  }
  EXPECT_TRUE(records[0].flush_accepted);
  EXPECT_THAT(records[2].completions, SizeIs(3));
  EXPECT_THAT(records[2].prompt_digests, testing::Each(PromptDigest(small.plan.prompts[0].ids)));
  EXPECT_FALSE(records[2].engine_steps.empty());
  EXPECT_THAT(records[4].scores, SizeIs(17));
}

TEST(Runner, RestartBeginsANewLaunch) {
  SmallPlan small;
  small.AddBatch(1);
  small.Add(StepKind::kRestart);
  small.AddBatch(1);
  FakeBackend backend = Fake(Fault::kNone);
  const TestRun run = RunPlan(small.plan, &backend);
  ASSERT_THAT(run.transcript.records, SizeIs(3));
  EXPECT_EQ(run.transcript.records[0].launch, 0);
  EXPECT_EQ(run.transcript.records[1].launch, 1);
  EXPECT_EQ(run.transcript.records[2].launch, 1);
}

TEST(Runner, MissedEvidenceIsAttemptedAgainAndKept) {
  SmallPlan small;
  small.AddBatch(4).evidence.min_formed_size = 4;
  small.AddBatch(1);
  FakeBackend backend = Fake(Fault::kSerialised);
  RunnerSettings settings;
  settings.step_attempts = 2;
  const TestRun run = RunPlan(small.plan, &backend, settings);
  EXPECT_EQ(run.end, RunEnd::kComplete);
  ASSERT_THAT(run.transcript.records, SizeIs(3));
  EXPECT_THAT(run.transcript.records[0].voided.value_or(""), HasSubstr("formed size 1 of 4"));
  EXPECT_EQ(run.transcript.records[1].attempt, 1);
  EXPECT_TRUE(run.transcript.records[1].voided);
  EXPECT_THAT(run.transcript.records[1].completions, SizeIs(4));
  EXPECT_EQ(run.transcript.records[2].step, 1);
  EXPECT_FALSE(run.transcript.records[2].voided);
}

TEST(Runner, ARetryPutsTheCacheBackFirst) {
  SmallPlan small;
  small.Add(StepKind::kFlush, Arm::kPrepare);
  small.AddBatch(1, Arm::kPrepare, CacheWish::kAllow);
  small.AddBatch(1, Arm::kVaried, CacheWish::kAllow).evidence.min_cached_tokens = 1;
  FakeBackend backend = Fake(Fault::kCacheNeverHits);
  RunnerSettings settings;
  settings.step_attempts = 2;
  const TestRun run = RunPlan(small.plan, &backend, settings);
  std::vector<std::pair<int, int>> attempts;
  for (const StepRecord& record : run.transcript.records) {
    attempts.emplace_back(record.step, record.attempt);
  }
  EXPECT_THAT(attempts, testing::ElementsAre(std::pair(0, 0), std::pair(1, 0), std::pair(2, 0),
                                             std::pair(0, 1), std::pair(1, 1), std::pair(2, 1)));
}

TEST(Runner, AnAnswerSliceComesFromTheFirstAttemptThatCounts) {
  SmallPlan small;
  PlannedRequest longer = small.plan.requests[0];
  longer.id = "p+answer";
  longer.prompt.push_back(AnswerSlice{0, 0, 0, 5});
  small.plan.requests.push_back(longer);
  small.AddBatch(1);
  small.AddBatch(1).items[0].request = 1;
  FakeBackend backend = Fake(Fault::kNone);
  const TestRun run = RunPlan(small.plan, &backend);
  std::vector<TokenId> ids = small.plan.prompts[0].ids;
  const std::vector<TokenId>& answer = run.transcript.records[0].completions[0].token_ids;
  ids.insert(ids.end(), answer.begin(), answer.begin() + 5);
  EXPECT_EQ(run.transcript.records[1].prompt_digests[0], PromptDigest(ids));
}

TEST(Runner, APromptWhoseAnswerIsMissingIsNotAttemptedAgain) {
  SmallPlan small;
  PlannedRequest longer = small.plan.requests[0];
  longer.prompt.push_back(AnswerSlice{0, 0, 0, 5});
  small.plan.requests.push_back(longer);
  small.AddBatch(1).evidence.min_formed_size = 2;
  small.AddBatch(1).items[0].request = 1;
  small.AddBatch(1);
  FakeBackend backend = Fake(Fault::kNone);
  RunnerSettings settings;
  settings.step_attempts = 2;
  const TestRun run = RunPlan(small.plan, &backend, settings);
  EXPECT_EQ(run.end, RunEnd::kComplete);
  ASSERT_THAT(run.transcript.records, SizeIs(4));
  EXPECT_THAT(run.transcript.records[2].error.value_or(""),
              HasSubstr("needs the answer of step 0, which never succeeded"));
  EXPECT_FALSE(run.transcript.records[3].voided);
}

TEST(Runner, AFailureIsAttemptedAgain) {
  SmallPlan small;
  for (int i = 0; i < 8; ++i) small.AddBatch(1);
  FakeBackend backend = Fake(Fault::kThrows);
  const TestRun run = RunPlan(small.plan, &backend);
  EXPECT_EQ(run.end, RunEnd::kComplete);
  ASSERT_THAT(run.transcript.records, SizeIs(9));
  EXPECT_EQ(run.transcript.records[6].error, "fake: connection reset");
  EXPECT_TRUE(run.transcript.records[6].voided);
  EXPECT_EQ(run.transcript.records[7].step, 6);
  EXPECT_FALSE(run.transcript.records[7].voided);
}

TEST(Runner, AnItemThatFailsVoidsItsStep) {
  SmallPlan small;
  for (int i = 0; i < 8; ++i) small.AddBatch(2);
  FakeBackend backend = Fake(Fault::kErrorCompletions);
  const TestRun run = RunPlan(small.plan, &backend);
  ASSERT_THAT(run.transcript.records, SizeIs(9));
  EXPECT_EQ(run.transcript.records[6].voided, "item 1 failed: fake: 503 service unavailable");
  EXPECT_THAT(run.transcript.records[6].completions, SizeIs(2));
}

TEST(Runner, AnAbortThatWasAskedForCounts) {
  SmallPlan small;
  Step& step = small.AddBatch(2);
  step.items[0].abort_after_tokens = 3;
  step.items[1].release = {Release::Kind::kAfterTokens, 0, 2};
  FakeBackend backend = Fake(Fault::kNone);
  const TestRun run = RunPlan(small.plan, &backend);
  ASSERT_THAT(run.transcript.records, SizeIs(1));
  const StepRecord& record = run.transcript.records[0];
  EXPECT_FALSE(record.voided) << *record.voided;
  EXPECT_THAT(record.completions[0].token_ids, SizeIs(3));
  EXPECT_EQ(record.completions[0].finish_reason, FinishReason::kAbort);
  EXPECT_THAT(record.completions[1].token_ids, SizeIs(8));
}

TEST(Runner, ATargetThatStaysAwayEndsTheRun) {
  SmallPlan small;
  for (int i = 0; i < 10; ++i) small.AddBatch(1);
  FakeBackend backend = Fake(Fault::kDies, 4);
  const TestRun run = RunPlan(small.plan, &backend);
  EXPECT_EQ(run.end, RunEnd::kTargetLost);
  EXPECT_FALSE(run.transcript.complete);
  EXPECT_EQ(run.transcript.ended_early, "target lost: fake: connection refused");
  // Four that counted, three attempts at the fifth, one at the sixth.
  EXPECT_THAT(run.transcript.records, SizeIs(8));
  EXPECT_EQ(Judge(small.plan, run.transcript).verdict, Verdict::kError);
}

TEST(Runner, ADeviceThatFailsEndsTheRunAtOnce) {
  SmallPlan small;
  for (int i = 0; i < 10; ++i) small.AddBatch(1);
  FakeBackend backend = Fake(Fault::kDeviceFails, 4);
  const TestRun run = RunPlan(small.plan, &backend);
  EXPECT_EQ(run.end, RunEnd::kTargetLost);
  EXPECT_THAT(run.transcript.records, SizeIs(5));
}

TEST(Runner, StopCutsABatchOffAndKeepsItsBeginning) {
  SmallPlan small;
  for (int i = 0; i < 4; ++i) small.AddBatch(1);
  FakeBackend backend = Fake(Fault::kNone);
  std::atomic<bool> stop = false;
  StopAfterTokens observer(&stop, 2, 3);
  Transcript transcript;
  Runner runner(small.plan, &backend, {}, stop, nullptr, &observer, &transcript);
  EXPECT_EQ(runner.Run(StepsToRun(small.plan)), RunEnd::kInterrupted);
  EXPECT_FALSE(transcript.complete);
  EXPECT_EQ(transcript.ended_early, "interrupted");
  ASSERT_THAT(transcript.records, SizeIs(3));
  EXPECT_FALSE(transcript.records[1].voided);
  EXPECT_EQ(transcript.records[2].voided, "interrupted");
  EXPECT_THAT(transcript.records[2].completions[0].token_ids, SizeIs(3));
  EXPECT_EQ(Judge(small.plan, transcript).verdict, Verdict::kInconclusive);
}

TEST(Runner, NoStepBeginsAfterTheBudget) {
  SmallPlan small;
  small.AddBatch(1);
  small.Add(StepKind::kWait).wait_seconds = 0.05;
  small.AddBatch(1);
  FakeBackend backend = Fake(Fault::kNone);
  RunnerSettings settings;
  settings.budget_s = 0.04;
  const TestRun run = RunPlan(small.plan, &backend, settings);
  EXPECT_EQ(run.end, RunEnd::kBudget);
  EXPECT_EQ(run.transcript.ended_early, "budget of 0.04 s spent");
  EXPECT_THAT(run.transcript.records, SizeIs(2));
}

/// Tells a path and who asked wherever it can.
class TalkativeBackend : public FakeBackend {
 public:
  TalkativeBackend() : FakeBackend(FakeOptions{}) {}

  BatchResult Complete(const std::vector<BatchItem>& items, const std::atomic<bool>& stop,
                       const TokenCallback& on_token) override {
    if (++num_calls_ == 1) throw Error(ErrorCode::kTarget, "https://alice:key@host/v1: refused");
    BatchResult result = FakeBackend::Complete(items, stop, on_token);
    result.completions[0].error = "cannot open /home/alice/model/tokenizer.json";
    return result;
  }
  FlushResult Flush() override { return {false, "see /var/log/alice/server.log"}; }

 private:
  int num_calls_ = 0;
};

TEST(Runner, PathsOfWhatTheTargetSaysAreCut) {
  SmallPlan small;
  small.Add(StepKind::kFlush);
  small.AddBatch(1);
  TalkativeBackend backend;
  RunnerSettings settings;
  settings.step_attempts = 2;
  const TestRun run = RunPlan(small.plan, &backend, settings);
  std::string said;
  for (const StepRecord& record : run.transcript.records) {
    said += record.detail + '|' + record.error.value_or("") + '|' + record.voided.value_or("");
    for (const Completion& completion : record.completions) said += completion.error + '|';
  }
  EXPECT_THAT(said, HasSubstr("see server.log"));
  EXPECT_THAT(said, HasSubstr("refused"));
  EXPECT_THAT(said, HasSubstr("cannot open tokenizer.json"));
  for (const char* secret : {"alice", "key", "host", "/"}) {
    EXPECT_THAT(said, testing::Not(HasSubstr(secret)));
  }
}

TEST(Runner, ATargetThatChangesIsSeen) {
  SmallPlan small;
  small.AddBatch(1);
  FakeBackend backend = Fake(Fault::kIdentityChanges);
  const std::string before = IdentityDigest(backend.Describe().subject);
  const TestRun run = RunPlan(small.plan, &backend);
  EXPECT_NE(run.transcript.identity_after, before);
  EXPECT_EQ(Judge(small.plan, run.transcript).verdict, Verdict::kInconclusive);
}

}  // namespace
}  // namespace detcheck
