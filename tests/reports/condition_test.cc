#include "reports/condition.h"

#include <gtest/gtest.h>

#include "tests/reports/run_builder.h"

namespace detcheck {
namespace {

const Completion kAnswer = Says({1, 2, 3, 4});
const Completion kOther = WithLogprob(Says({1, 2, 9, 4}), 1, -0.4);

Observation At(std::vector<Axis> axes, bool diverged) {
  Observation observation;
  for (const Axis& axis : axes) {
    observation.cell += axis.name + "=" + std::to_string(axis.value) + " ";
  }
  observation.axes = std::move(axes);
  observation.diverged = diverged;
  return observation;
}

TEST(Condition, NothingDiverged) {
  EXPECT_EQ(DescribeCondition({At({{"batch_size", 2}}, false)}).words, "");
}

TEST(Condition, FromASizeOn) {
  std::vector<Observation> seen;
  for (const int size : {1, 2, 4, 8, 9, 16, 33})
    seen.push_back(At({{"batch_size", size}}, size > 8));
  EXPECT_EQ(DescribeCondition(seen).words, "in all batches >= 9, in none below");
}

TEST(Condition, UpToASize) {
  std::vector<Observation> seen;
  for (const int size : {1, 2, 4, 8}) seen.push_back(At({{"batch_size", size}}, size <= 2));
  EXPECT_EQ(DescribeCondition(seen).words, "in all batches <= 2, in none above");
}

TEST(Condition, AtCertainSizes) {
  std::vector<Observation> seen;
  for (const int size : {1, 2, 3, 4, 5, 8}) {
    seen.push_back(At({{"batch_size", size}}, size == 3 || size == 5));
  }
  EXPECT_EQ(DescribeCondition(seen).words, "in batches of 3, 5 only");
}

TEST(Condition, BesideSomeNeighbours) {
  std::vector<Observation> seen = {At({{"batch_size", 1}}, false)};
  for (const int len : {1, 64, 256, 257, 512}) {
    seen.push_back(At({{"neighbour_prefill", len}, {"batch_size", 2}}, len > 256));
  }
  EXPECT_EQ(DescribeCondition(seen).words, "beside >= 257 prefill tokens, never beside fewer");
}

TEST(Condition, ABoundIsPreferredToAListOfValues) {
  const std::vector<Observation> seen = {At({{"batch_size", 1}, {"same_step_prefill", 0}}, false),
                                         At({{"batch_size", 2}, {"same_step_prefill", 1}}, true),
                                         At({{"batch_size", 2}, {"same_step_prefill", 64}}, true),
                                         At({{"batch_size", 4}, {"same_step_prefill", 0}}, false)};
  EXPECT_EQ(DescribeCondition(seen).words,
            "with >= 1 neighbour prefill tokens in its engine step, never with fewer");
}

TEST(Condition, OneItem) {
  std::vector<Observation> seen;
  for (int item = 0; item < 8; ++item) {
    seen.push_back(At({{"batch_size", 8}, {"item", item}}, item == 7));
  }
  EXPECT_EQ(DescribeCondition(seen).words, "at item 7 only");
}

TEST(Condition, OneItemOfLargeBatches) {
  std::vector<Observation> seen;
  for (const int size : {2, 4, 8, 16}) {
    for (int item = 0; item < size; ++item) {
      seen.push_back(At({{"batch_size", size}, {"item", item}}, size >= 8 && item == 3));
    }
  }
  EXPECT_EQ(DescribeCondition(seen).words,
            "in all batches >= 8, in none below; there at item 3 only");
}

TEST(Condition, AfterSomeTraffic) {
  std::vector<Observation> seen = {At({{"batch_size", 1}}, false)};
  seen[0].control = true;
  for (const int traffic : {1, 2, 3, 4, 5}) {
    seen.push_back(At({{"history", traffic}, {"batch_size", 1}}, traffic == 3 || traffic == 4));
  }
  EXPECT_EQ(DescribeCondition(seen).words, "after aborted requests, memory pressure only");
  for (size_t i = 1; i < seen.size(); ++i) seen[i].diverged = i >= 5;
  EXPECT_EQ(DescribeCondition(seen).words, "after a restart only");
  for (size_t i = 1; i < seen.size(); ++i) seen[i].diverged = i <= 2;
  EXPECT_EQ(DescribeCondition(seen).words, "after a large batch, long prompts only");
  for (size_t i = 1; i < seen.size(); ++i) seen[i].diverged = true;
  EXPECT_EQ(DescribeCondition(seen).words, "after all other traffic, never before it");
}

TEST(Condition, UnknownAxesAreNamed) {
  std::vector<Observation> seen;
  for (const int len : {1, 16, 512}) seen.push_back(At({{"shared_prefix", len}}, len >= 16));
  EXPECT_EQ(DescribeCondition(seen).words, "where shared_prefix >= 16, never below");
}

TEST(Condition, RepeatsThatDisagreeAreIntermittent) {
  std::vector<Observation> seen;
  for (int i = 0; i < 4; ++i) seen.push_back(At({{"batch_size", 9}}, i == 2));
  for (int i = 0; i < 4; ++i) seen.push_back(At({{"batch_size", 2}}, false));
  EXPECT_EQ(DescribeCondition(seen).words, "intermittent: 1 of 8 samples");
}

TEST(Condition, EverythingButAlone) {
  std::vector<Observation> seen = {At({{"arrivals", 3}}, true), At({{"arrivals", 2}}, true),
                                   At({{"other", 1}}, false)};
  seen[2].control = true;
  EXPECT_EQ(DescribeCondition(seen).words, "in all varied steps, never alone");
}

TEST(Condition, NoSimpleStatementNoWords) {
  const std::vector<Observation> seen = {
      At({{"batch_size", 2}, {"item", 0}}, true), At({{"batch_size", 2}, {"item", 1}}, false),
      At({{"batch_size", 3}, {"item", 0}}, false), At({{"batch_size", 3}, {"item", 1}}, true)};
  EXPECT_EQ(DescribeCondition(seen).words, "");
}

TEST(Condition, SpeaksOfFormedSizes) {
  RunBuilder run;
  run.Solos(5, Arm::kControlCold, kAnswer).Batch({kAnswer, kAnswer});
  run.Batch(std::vector<Completion>(8, kOther));
  run.LastStep().evidence = {};
  for (Completion& answer : run.LastRecord().completions) answer.witness.formed_size = 5;
  EXPECT_EQ(run.JudgeFirst().condition, "in all batches >= 5, in none below");
}

}  // namespace
}  // namespace detcheck
