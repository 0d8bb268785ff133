// What becomes of the runtime's errors on a device.

#include "engine/embedded/cuda/device_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/embedded/cuda/check.h"

namespace detcheck::cuda {
namespace {

// The launch after a failed call must not be taken for failed.
TEST(CheckStatus, AnErrorIsToldOnce) {
  EXPECT_THROW(DETCHECK_CUDA(cudaSetDevice(-1)), Error);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST(DeviceBuffer, TellsHowMuchThereIs) {
  try {
    const DeviceBuffer buffer(size_t{1} << 42);
    ADD_FAILURE() << "4 TiB";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDevice);
    EXPECT_THAT(error.what(),
                ::testing::MatchesRegex("CUDA: out of device memory: 4194304 MiB asked for, "
                                        "[0-9]+ of [0-9]+ MiB free"));
  }
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

}  // namespace
}  // namespace detcheck::cuda
