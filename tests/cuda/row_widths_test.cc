// Which models the row operations take. Needs no device.

#include <gtest/gtest.h>

#include <string>

#include "engine/base/error.h"
#include "engine/embedded/cuda/row_kernels.h"

namespace detcheck::cuda {
namespace {

std::string WhyNot(int hidden_size, int intermediate_size) {
  try {
    RequireRowWidths(hidden_size, intermediate_size);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    return error.what();
  }
  return "";
}

TEST(RequireRowWidths, MultiplesOfEightThatRmsNormTakes) {
  EXPECT_EQ(WhyNot(8, 8), "");
  EXPECT_EQ(WhyNot(576, 1536), "");
  EXPECT_EQ(WhyNot(16384, 53248), "");
  EXPECT_EQ(WhyNot(100, 1536), "CUDA: hidden_size 100: must be a multiple of 8, at most 16384");
  EXPECT_EQ(WhyNot(16392, 1536), "CUDA: hidden_size 16392: must be a multiple of 8, at most 16384");
  EXPECT_EQ(WhyNot(576, 1530),
            "CUDA: intermediate_size 1530: must be a multiple of 8, at most 2147483647");
}

}  // namespace
}  // namespace detcheck::cuda
