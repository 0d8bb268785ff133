#include "engine/embedded/cuda/decode_graphs.h"

#include <gtest/gtest.h>

#include "engine/embedded/cuda/check.h"
#include "engine/embedded/cuda/device_memory.h"

namespace detcheck::cuda {
namespace {

/// One byte on the device that steps write.
class DecodeGraphsTest : public ::testing::Test {
 protected:
  DecodeGraphsTest() : byte_(1), graphs_(/*on=*/true, /*max_rows=*/8) { Write(0); }

  cudaStream_t stream() const { return stream_.get(); }
  void Write(int value) { DETCHECK_CUDA(cudaMemsetAsync(byte_.as<void>(), value, 1, stream())); }
  int Read() {
    unsigned char value = 0;
    stream_.Synchronize();
    DETCHECK_CUDA(cudaMemcpy(&value, byte_.as<void>(), 1, cudaMemcpyDeviceToHost));
    return value;
  }
  void Begin() {
    graphs_.Abandon(stream());
    graphs_.Begin(/*decode=*/true, /*num_rows=*/3, stream());
  }

  Stream stream_;
  DeviceBuffer byte_;
  DecodeGraphs graphs_;
};

TEST_F(DecodeGraphsTest, ReplaysWhatItHasCaptured) {
  Begin();
  EXPECT_FALSE(graphs_.replaying());
  Write(1);
  graphs_.Launch(stream());
  EXPECT_EQ(Read(), 1);
  Write(2);
  Begin();
  EXPECT_TRUE(graphs_.replaying());
  graphs_.Launch(stream());
  EXPECT_EQ(Read(), 1);
  EXPECT_EQ(graphs_.num_captured(), 1);
}

TEST_F(DecodeGraphsTest, AStepThatFailedHalfWayDoesNotSwallowTheNext) {
  Begin();
  Write(1);
  graphs_.Abandon(stream());
  Write(2);  // The next step's input.
  EXPECT_EQ(Read(), 2);
  Begin();
  EXPECT_FALSE(graphs_.replaying());
  Write(3);
  graphs_.Launch(stream());
  EXPECT_EQ(Read(), 3);
}

TEST_F(DecodeGraphsTest, ACaptureThatFailedIsForgotten) {
  Begin();
  EXPECT_NE(cudaStreamSynchronize(stream()), cudaSuccess);  // Not while it is captured.
  graphs_.Abandon(stream());
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  Write(4);
  EXPECT_EQ(Read(), 4);
}

}  // namespace
}  // namespace detcheck::cuda
