#include <gtest/gtest.h>

#include "reports/transcript.h"
#include "tests/reports/run_builder.h"

namespace detcheck {
namespace {

const Completion kAnswer = Says({1, 2, 3, 4});

// Two cold steps of `single`; then `radix_cache`: flush (2), fill (3), warm (4), cold by bypass
// (5), warm (6), flush (7), cold (8), cold (9).
class Resume : public ::testing::Test {
 protected:
  Resume() {
    run_.Solos(2, Arm::kControlCold, kAnswer);
    run_.BeginMode(Mode::kRadixCache);
    AddFlush();
    AddReading(Arm::kPrepare, CacheState::kAny);
    AddReading(Arm::kControlWarm, CacheState::kWarm);
    run_.Solo(Arm::kRecheck, kAnswer);
    AddReading(Arm::kVaried, CacheState::kWarm);
    AddFlush();
    run_.Solo(Arm::kVaried, kAnswer).Solo(Arm::kVaried, kAnswer);
  }

  void AddFlush() {
    Step step;
    step.kind = StepKind::kFlush;
    step.mode = Mode::kRadixCache;
    StepRecord record;
    record.flush_accepted = true;
    run_.Add(step, record);
  }

  void AddReading(Arm arm, CacheState cache) {
    run_.Solo(arm, kAnswer, cache);
    run_.LastStep().items[0].cache = CacheWish::kAllow;
  }

  // Where a run goes on that ended after `num_records` records, and how many of them it keeps.
  std::pair<int, size_t> After(size_t num_records) {
    Transcript transcript = run_.transcript();
    transcript.records.resize(num_records);
    const int step = RewindForResume(run_.plan(), &transcript);
    return {step, transcript.records.size()};
  }

  using At = std::pair<int, size_t>;
  RunBuilder run_;
};

TEST_F(Resume, NothingWasRun) {
  EXPECT_EQ(After(0), At(0, 0));
}

TEST_F(Resume, EverythingWasRun) {
  EXPECT_EQ(After(10), At(10, 10));
}

TEST_F(Resume, ColdStepsThatBypassTheCacheBeginAnywhere) {
  EXPECT_EQ(After(1), At(1, 1));
  EXPECT_EQ(After(8), At(8, 8));
  EXPECT_EQ(After(9), At(9, 9));
}

TEST_F(Resume, AModeBeginsAfresh) {
  EXPECT_EQ(After(2), At(2, 2));
}

TEST_F(Resume, WhatReadsTheCacheGoesBackToTheFlush) {
  for (const size_t num_records : {3, 4, 6}) EXPECT_EQ(After(num_records), At(2, 2));
}

TEST_F(Resume, AColdStepBeforeAWarmOneIsNoBeginning) {
  EXPECT_EQ(After(5), At(2, 2));
}

TEST_F(Resume, AFlushIsABeginning) {
  EXPECT_EQ(After(7), At(7, 7));
}

TEST_F(Resume, AStepWhoseLastAttemptDoesNotCountIsRunAgain) {
  run_.transcript().records[1].voided = "503";
  EXPECT_EQ(After(2), At(1, 1));
  run_.transcript().records[1].voided.reset();
  run_.transcript().records[1].error = "timeout";
  EXPECT_EQ(After(2), At(1, 1));
}

TEST_F(Resume, AStepThatWasGivenUpIsLeft) {
  run_.transcript().records[0].voided = "missed witness";
  EXPECT_EQ(After(2), At(2, 2));
}

TEST_F(Resume, AttemptsAfterOneThatCountsDoNotUndoIt) {
  StepRecord repeated = run_.transcript().records[1];
  repeated.voided = "run again";
  Transcript transcript = run_.transcript();
  transcript.records.resize(2);
  transcript.records.push_back(repeated);
  EXPECT_EQ(RewindForResume(run_.plan(), &transcript), 2);
}

TEST_F(Resume, ControlThatWasRepeatedDoesNotConfuse) {
  // Ended within step 8; went on: control of `single` again, then killed.
  Transcript transcript = run_.transcript();
  transcript.records.resize(8);
  transcript.records.push_back(run_.transcript().records[0]);
  EXPECT_EQ(RewindForResume(run_.plan(), &transcript), 8);
  EXPECT_EQ(transcript.records.size(), 9U);
}

TEST_F(Resume, AStepThatWasLeftOutIsFound) {
  Transcript transcript = run_.transcript();
  transcript.records.erase(transcript.records.begin() + 1);
  EXPECT_EQ(RewindForResume(run_.plan(), &transcript), 1);
  EXPECT_EQ(transcript.records.size(), 1U);
}

TEST_F(Resume, RecordsOfNoStepAreDropped) {
  run_.transcript().records.back().step = 99;
  EXPECT_EQ(After(10), At(9, 9));
}

}  // namespace
}  // namespace detcheck
