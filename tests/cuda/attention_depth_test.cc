// Which pipelines fit which GPU. Needs no device.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/base/error.h"
#include "engine/embedded/cuda/attention_flash.h"

namespace detcheck::cuda::flash {
namespace {

// Shared memory that a block of threads may have.
constexpr int kA100 = 163 << 10;  // 8.0, 8.7.
constexpr int kSmall = 99 << 10;  // 8.6, 8.9, 12.0: A10, L4, L40S, RTX 30, 40 and 50.
constexpr int kH200 = 227 << 10;  // 9.0, 10.0.

TEST(DeepestThatFits, LargeGpusHaveDeepPipelines) {
  for (const int head_dim : {32, 64, 128}) {
    for (const int most_bytes : {kA100, kH200}) {
      EXPECT_EQ(DeepestThatFits(DecodeSharedBytes, head_dim, most_bytes), Depth::kDeep);
      EXPECT_EQ(DeepestThatFits(MmaPrefillSharedBytes, head_dim, most_bytes), Depth::kDeep);
    }
  }
}

TEST(DeepestThatFits, SmallGpusHaveShallowOnesWhereTheyMust) {
  EXPECT_EQ(DeepestThatFits(DecodeSharedBytes, 32, kSmall), Depth::kDeep);
  EXPECT_EQ(DeepestThatFits(DecodeSharedBytes, 64, kSmall), Depth::kShallow);
  EXPECT_EQ(DeepestThatFits(DecodeSharedBytes, 128, kSmall), Depth::kShallow);
  EXPECT_EQ(DeepestThatFits(MmaPrefillSharedBytes, 32, kSmall), Depth::kDeep);
  EXPECT_EQ(DeepestThatFits(MmaPrefillSharedBytes, 64, kSmall), Depth::kDeep);
  EXPECT_EQ(DeepestThatFits(MmaPrefillSharedBytes, 128, kSmall), Depth::kShallow);
}

TEST(DeepestThatFits, TakesWhatFitsExactly) {
  const int deep = DecodeSharedBytes(128, Depth::kDeep);
  const int shallow = DecodeSharedBytes(128, Depth::kShallow);
  EXPECT_LT(shallow, deep);
  EXPECT_EQ(DeepestThatFits(DecodeSharedBytes, 128, deep), Depth::kDeep);
  EXPECT_EQ(DeepestThatFits(DecodeSharedBytes, 128, deep - 1), Depth::kShallow);
  EXPECT_EQ(DeepestThatFits(DecodeSharedBytes, 128, shallow), Depth::kShallow);
}

TEST(DeepestThatFits, NamesTheWayOutWhereNothingFits) {
  try {
    DeepestThatFits(DecodeSharedBytes, 128, 48 << 10);
    ADD_FAILURE() << "found one";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), ::testing::MatchesRegex(
                                  "attention backend flash: head_dim 128 needs [0-9]+ bytes of "
                                  "shared memory for a block of threads, this GPU has 49152; "
                                  "--attention-backend reference needs few"));
  }
}

}  // namespace
}  // namespace detcheck::cuda::flash
