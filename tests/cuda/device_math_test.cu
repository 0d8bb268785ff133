#include <gtest/gtest.h>

#include "engine/base/rng.h"
#include "engine/embedded/cpu/det_math.h"
#include "engine/embedded/cpu/dispatch.h"
#include "engine/embedded/cuda/device_math.cuh"
#include "tests/cuda/device_array.h"

namespace detcheck::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void ExpKernel(const float* x, int count, float* y) {
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (i < count) y[i] = Exp(x[i]);
}

__global__ void LogKernel(const double* x, int count, double* y) {
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (i < count) y[i] = Log(x[i]);
}

TEST(CudaDeviceMath, ExpHasTheCpuEnginesBits) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 4093) {
    const auto word = static_cast<uint32_t>(bits);
    float value = 0;
    std::memcpy(&value, &word, sizeof(value));
    x.push_back(value);
  }
  for (int i = 0; i < 400000; ++i) x.push_back(-106.0f + static_cast<float>(i) * 5e-4f);
  const auto count = static_cast<int>(x.size());
  std::vector<float> expected(x.size());
  cpu::KernelsFor(cpu::DetectSimdLevel()).math.exp(x.data(), expected.data(), count);
  const DeviceArray<float> device_x(x);
  const DeviceArray<float> y(std::vector<float>(x.size(), 0.0f));
  ExpKernel<<<(count + kThreads - 1) / kThreads, kThreads>>>(device_x.data(), count, y.data());
  DETCHECK_CUDA(cudaGetLastError());
  const std::vector<float> actual = y.Read();
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] != x[i] && actual[i] != actual[i]) continue;
    ASSERT_EQ(BitsOf(actual[i]), BitsOf(expected[i]))
        << "exp(" << x[i] << ") = " << actual[i] << ", expected " << expected[i];
  }
}

TEST(CudaDeviceMath, LogHasTheCpuEnginesBits) {
  std::vector<double> x = {1.0, 2.0, 0.5, 0x1p-53, 1.0 - 0x1p-53, 151936.0, 0x1p1000, 0x1p-1022};
  Rng rng(1);
  for (int i = 0; i < 400000; ++i) {
    x.push_back((static_cast<double>(rng.Next64() >> 12) + 0.5) * 0x1p-52);
    x.push_back(1.0 + 2e5 * rng.Unit());
  }
  const auto count = static_cast<int>(x.size());
  const DeviceArray<double> device_x(x);
  const DeviceArray<double> y(std::vector<double>(x.size(), 0.0));
  LogKernel<<<(count + kThreads - 1) / kThreads, kThreads>>>(device_x.data(), count, y.data());
  DETCHECK_CUDA(cudaGetLastError());
  const std::vector<double> actual = y.Read();
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(actual[i], cpu::DetLogDouble(x[i])) << "log(" << x[i] << ")";
  }
}

}  // namespace
}  // namespace detcheck::cuda
