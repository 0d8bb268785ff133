#include "reports/composition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/run_builder.h"

namespace detcheck {
namespace {

using ::testing::ElementsAre;

const Completion kAnswer = Says({1, 2, 3, 4});

EngineStepSpan Span(int64_t first, int64_t count, std::vector<EngineStepSpan::Row> rows) {
  return {first, count, std::move(rows)};
}

TEST(Composition, RepeatsCountOnceAndRowsDoNotCount) {
  RunBuilder run = SteadyRun(kAnswer);  // Five equal solos; batches of 2, 4 and 8.
  const ModeJudgement mode = run.Judge().modes[0];
  EXPECT_EQ(mode.num_batches, 4);
  EXPECT_DOUBLE_EQ(mode.bound, UpperBound95(4));
  EXPECT_THAT(mode.formed_sizes, ElementsAre(1, 2, 4, 8));
}

TEST(Composition, EngineStepsTellEqualPlansApart) {
  RunBuilder run;
  for (const int64_t first : {0, 0, 1}) {
    run.Solo(Arm::kVaried, kAnswer);
    run.LastRecord().engine_steps = {Span(first, 1, {{0, 12, false}}),
                                     Span(first + 1, 3, {{0, 1, true}})};
  }
  EXPECT_EQ(run.Judge().modes[0].num_batches, 2);
}

TEST(Composition, RequestsAndCacheStateMakeADifference) {
  RunBuilder run;
  run.Solo(Arm::kVaried, kAnswer);
  run.Solo(Arm::kVaried, kAnswer, CacheState::kWarm);
  run.AddRequest("q02");
  run.Solo(Arm::kVaried, kAnswer);
  run.LastStep().items[0].request = 1;
  EXPECT_EQ(run.Judge().modes[0].num_batches, 3);
}

TEST(Composition, WhatDoesNotCountDoesNotCount) {
  RunBuilder run = SteadyRun(kAnswer);
  run.Batch(std::vector<Completion>(16, kAnswer));
  run.LastRecord().voided = "503";
  run.Solo(Arm::kPrepare, kAnswer, CacheState::kAny);
  const ModeJudgement mode = run.Judge().modes[0];
  EXPECT_EQ(mode.num_batches, 4);
  EXPECT_THAT(mode.formed_sizes, ElementsAre(1, 2, 4, 8));
}

}  // namespace
}  // namespace detcheck
