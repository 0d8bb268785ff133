// How the runtime's errors are told. Needs no device.

#include "engine/embedded/cuda/check.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "engine/base/error.h"

namespace detcheck::cuda {
namespace {

std::string MessageOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDevice);
    return error.what();
  }
  return "";
}

TEST(CheckStatus, NamesTheCallAndTheFact) {
  EXPECT_EQ(MessageOf([] { CheckStatus(cudaErrorMemoryAllocation, "cudaMallocHost(&p, n)"); }),
            "CUDA: cudaMallocHost: out of memory");
  EXPECT_EQ(MessageOf([] { CheckStatus(cudaErrorNoKernelImageForDevice, "cudaGetLastError()"); }),
            "CUDA: launch of a kernel: no kernel image is available for execution on the device");
  EXPECT_EQ(MessageOf([] { CheckStatus(cudaSuccess, "cudaFree(nullptr)"); }), "");
}

}  // namespace
}  // namespace detcheck::cuda
