#include "engine/embedded/cuda/synthetic_fill.h"

#include <gtest/gtest.h>

#include "tests/cuda/device_array.h"

namespace detcheck::cuda {
namespace {

constexpr uint16_t kUntouched = 0x7fc1;  // A NaN, which no element is.

// Fills `count` elements from `offset` on of a larger array, and compares bits with the host's.
void ExpectHostBits(const SyntheticTensor& tensor, int64_t count, int64_t offset) {
  const auto begin = static_cast<size_t>(offset);
  const auto size = static_cast<size_t>(count);
  std::vector<uint16_t> expected(begin + size + 16, kUntouched);
  const DeviceArray<uint16_t> out(expected);
  detcheck::FillSynthetic(tensor, count, DType::kBf16, 2, expected.data() + begin);
  const Stream stream;
  FillSynthetic(tensor, count, reinterpret_cast<__nv_bfloat16*>(out.data()) + offset, stream.get());
  const std::vector<uint16_t> actual = out.Read();
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(actual[i], expected[i])
        << "element " << static_cast<int64_t>(i) - offset << " of " << count << ", tensor "
        << tensor.index << ", seed " << tensor.seed << ", written from element " << offset;
  }
}

TEST(CudaSyntheticFill, HostBitsForRaggedCounts) {
  const SyntheticTensor tensor = {42, 3, 0.0f, SyntheticTensor::ScaleOf(0.02)};
  for (const int64_t count : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 1000, 2047, 2048, 2049}) {
    ExpectHostBits(tensor, count, 0);
  }
}

TEST(CudaSyntheticFill, HostBitsWhereverTheTensorLies) {
  const SyntheticTensor tensor = {42, 3, 0.0f, SyntheticTensor::ScaleOf(0.02)};
  for (const int64_t offset : {1, 2, 4, 7, 8}) ExpectHostBits(tensor, 100, offset);
}

TEST(CudaSyntheticFill, HostBitsForManySeedsAndTensors) {
  for (const uint64_t seed : {uint64_t{0}, uint64_t{42}, (uint64_t{1} << 53) - 1}) {
    for (const uint32_t index : {0u, 1u, 77u, 0xffffffffu}) {
      ExpectHostBits({seed, index, 0.0f, SyntheticTensor::ScaleOf(0.02)}, 4096, 0);
      ExpectHostBits({seed, index, 1.0f, SyntheticTensor::ScaleOf(0.1)}, 4100, 0);
      ExpectHostBits({seed, index, -0.5f, 0.0f}, 33, 0);
    }
  }
}

TEST(CudaSyntheticFill, HostBitsOfALargeTensor) {
  ExpectHostBits({7, 12, 0.0f, SyntheticTensor::ScaleOf(0.02)}, (int64_t{1} << 23) + 5, 0);
}

TEST(CudaSyntheticFill, NothingForNoElements) {
  ExpectHostBits({42, 3, 0.0f, 1.0f}, 0, 0);
}

}  // namespace
}  // namespace detcheck::cuda
