#include "engine/embedded/cuda/rope.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "engine/embedded/cpu/det_math.h"
#include "engine/embedded/cuda/check.h"

namespace detcheck::cuda {
namespace {

DeviceBuffer Upload(const std::vector<float>& values) {
  DeviceBuffer buffer(values.size() * sizeof(float));
  DETCHECK_CUDA(
      cudaMemcpy(buffer.as<float>(), values.data(), buffer.num_bytes(), cudaMemcpyHostToDevice));
  return buffer;
}

}  // namespace

Rope::Rope(const ModelConfig& config) {
  const std::vector<double> frequencies =
      cpu::RopeInvFreq(config.rope_theta, config.head_dim, config.rope_scaling);
  const size_t half = frequencies.size();
  const auto num_positions = static_cast<size_t>(config.context_len);
  std::vector<float> cos(num_positions * half);
  std::vector<float> sin(num_positions * half);
  const size_t num_threads = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, 16);
  const auto fill = [&](size_t first) {
    for (size_t p = first; p < num_positions; p += num_threads) {
      cpu::RopeRow(frequencies, static_cast<int64_t>(p), &cos[p * half], &sin[p * half]);
    }
  };
  {
    std::vector<std::jthread> others;
    for (size_t t = 1; t < num_threads; ++t) others.emplace_back(fill, t);
    fill(0);
  }
  cos_ = Upload(cos);
  sin_ = Upload(sin);
}

}  // namespace detcheck::cuda
