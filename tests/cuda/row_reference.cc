#include "tests/cuda/row_reference.h"

#include <cmath>

#include "tests/cuda/device_array.h"

namespace detcheck::cuda {
namespace {

constexpr size_t kLanes = 32;

// Every lane ends with the same bits; lane 0's.
float Butterfly(std::vector<float> lanes) {
  for (size_t mask = lanes.size() / 2; mask > 0; mask /= 2) {
    const std::vector<float> before = lanes;
    for (size_t i = 0; i < lanes.size(); ++i) lanes[i] = before[i] + before[i ^ mask];
  }
  return lanes[0];
}

float InverseRms(float square_sum, size_t n, float eps) {
  return 1.0f / std::sqrt(square_sum / static_cast<float>(n) + eps);
}

std::vector<uint16_t> Normalized(const std::vector<float>& x, const std::vector<float>& gain,
                                 float inverse_rms) {
  std::vector<uint16_t> out;
  for (size_t i = 0; i < x.size(); ++i) {
    const float normal = FloatFromBf16(Bf16FromFloat(x[i] * inverse_rms));
    out.push_back(Bf16FromFloat(normal * gain[i]));
  }
  return out;
}

}  // namespace

std::vector<uint16_t> RmsNormReference(std::span<const uint16_t> row,
                                       const std::vector<float>& gain, float eps) {
  const std::vector<float> x = Widened(row);
  const size_t vectors = x.size() <= 4096 ? 1 : x.size() <= 8192 ? 2 : 4;
  const size_t per_warp = kLanes * 8 * vectors;
  const size_t threads = (x.size() + per_warp - 1) / per_warp * kLanes;
  std::vector<float> warp_sums(kLanes, 0.0f);
  for (size_t warp = 0; warp < threads / kLanes; ++warp) {
    std::vector<float> lanes(kLanes, 0.0f);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      for (size_t v = 0; v < vectors; ++v) {
        const size_t first = (warp * kLanes + lane + v * threads) * 8;
        for (size_t i = first; i < first + 8 && i < x.size(); ++i) {
          lanes[lane] = std::fma(x[i], x[i], lanes[lane]);
        }
      }
    }
    warp_sums[warp] = Butterfly(lanes);
  }
  return Normalized(x, gain, InverseRms(Butterfly(warp_sums), x.size(), eps));
}

std::vector<uint16_t> RopeReference(std::span<const uint16_t> head, const std::vector<float>& gain,
                                    float eps, std::span<const float> cos,
                                    std::span<const float> sin) {
  std::vector<float> x = Widened(head);
  const size_t half = x.size() / 2;
  if (!gain.empty()) {
    size_t group = 1;
    while (group * 8 < x.size()) group *= 2;
    std::vector<float> lanes(group, 0.0f);
    for (size_t lane = 0; lane * 4 < half; ++lane) {
      for (size_t i = lane * 4; i < lane * 4 + 4; ++i) {
        lanes[lane] = std::fma(x[i], x[i], lanes[lane]);
      }
      for (size_t i = half + lane * 4; i < half + lane * 4 + 4; ++i) {
        lanes[lane] = std::fma(x[i], x[i], lanes[lane]);
      }
    }
    x = Widened(Normalized(x, gain, InverseRms(Butterfly(lanes), x.size(), eps)));
  }
  std::vector<uint16_t> out(x.size());
  for (size_t i = 0; i < half; ++i) {
    const float a = x[i];
    const float b = x[half + i];
    out[i] = Bf16FromFloat(std::fma(a, cos[i], -(b * sin[i])));
    out[half + i] = Bf16FromFloat(std::fma(b, cos[i], a * sin[i]));
  }
  return out;
}

}  // namespace detcheck::cuda
