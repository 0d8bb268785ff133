#include "engine/remote/look_pace.h"

#include <gtest/gtest.h>

namespace detcheck {
namespace {

TEST(LookPace, LooksTakeAnEighthOfTheTime) {
  LookPace pace;
  pace.Note(0.005);
  EXPECT_DOUBLE_EQ(pace.pause_s(), 0.035);
}

TEST(LookPace, TheFastestLookIsWhatOneCosts) {
  LookPace pace;
  pace.Note(0.004);
  pace.Note(0.1);  // It waited for an engine step.
  EXPECT_DOUBLE_EQ(pace.pause_s(), 0.028);
}

TEST(LookPace, PausesHaveBounds) {
  LookPace pace;
  EXPECT_DOUBLE_EQ(pace.pause_s(), 0.001);
  pace.Note(1.0);
  EXPECT_DOUBLE_EQ(pace.pause_s(), 0.25);
  pace.Note(0.00001);
  EXPECT_DOUBLE_EQ(pace.pause_s(), 0.001);
}

}  // namespace
}  // namespace detcheck
