#pragma once

#include <cstdint>

#include "engine/embedded/cuda/device_math.cuh"
#include "engine/embedded/cuda/philox.cuh"

/// Rows of float32 logits [V] as the sampler's kernels see them: the ranking of a row's tokens,
/// their weights and their noise. Everything that is added up is an integer, so that sums and
/// maxima do not depend on the order in which threads come to them.
namespace detcheck::cuda {

constexpr int kWarpSize = 32;
constexpr unsigned kWholeWarp = 0xffffffffu;

/// A token's place in the ranking of its row as one number, larger first: the logit (NaN below
/// everything, both zeros equal), then the lower id. Unique within a row.
using Rank = unsigned long long;

/// Below every token whose logit is a number, above those whose logit is NaN.
constexpr Rank kLowestNumber = Rank{1} << 32;

__device__ __forceinline__ Rank RankOf(float logit, int id) {
  const uint32_t bits = __float_as_uint(__fadd_rn(logit, 0.0f));  // -0 becomes +0.
  const uint32_t ordered = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  const uint32_t key = logit == logit ? ordered : 0u;
  return Rank{key} << 32 | ~static_cast<uint32_t>(id);
}

__device__ __forceinline__ int IdOf(Rank rank) {
  return static_cast<int>(~static_cast<uint32_t>(rank));
}

__device__ __forceinline__ float LogitOf(Rank rank) {
  const auto key = static_cast<uint32_t>(rank >> 32);
  if (key == 0) return __uint_as_float(0x7fc00000u);
  return __uint_as_float((key & 0x80000000u) != 0 ? key & 0x7fffffffu : ~key);
}

/// exp((logit - max) / temperature), the bits of cpu::SampleRow's.
__device__ __forceinline__ float WeightOf(float logit, float max, double temperature) {
  float centred = __fsub_rn(logit, max);
  if (temperature != 1.0) {
    centred = __double2float_rn(__ddiv_rn(static_cast<double>(centred), temperature));
  }
  return Exp(centred);
}

/// Weights as they are summed: multiples of 2^-40, rounded to nearest; 0 for NaN. A row of up to
/// 2^23 tokens fits.
using Mass = unsigned long long;
constexpr float kMassOfOne = 0x1p40f;
constexpr double kOneOfMass = 0x1p-40;

__device__ __forceinline__ Mass MassOf(float weight) {
  return weight > 0.0f ? __float2ull_rn(__fmul_rn(weight, kMassOfOne)) : 0;
}

/// Uniform in (0, 1): an odd multiple of 2^-53; the bits of cpu::SampleRow's.
__device__ __forceinline__ double Uniform(uint64_t seed, int64_t position, int id) {
  const auto p = static_cast<uint64_t>(position);
  const uint4 words = Philox4x32(
      {static_cast<uint32_t>(p), static_cast<uint32_t>(p >> 32), static_cast<uint32_t>(id), 0u},
      static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
  const uint64_t bits = (uint64_t{words.x} << 32 | words.y) >> 12;
  return __dmul_rn(__dadd_rn(static_cast<double>(bits), 0.5), 0x1p-52);
}

/// Calls visit(id, logit) once for each id in [begin, end) of `row`, which is aligned to 4 bytes;
/// the threads of the CTA share the ids. Loads are 16 bytes wide, several in flight.
template <class Visit>
__device__ __forceinline__ void VisitLogits(const float* row, int begin, int end,
                                            const Visit& visit) {
  constexpr int kInFlight = 4;
  const int thread = static_cast<int>(threadIdx.x);
  const int num_threads = static_cast<int>(blockDim.x);
  const auto misaligned = static_cast<int>(reinterpret_cast<uintptr_t>(row + begin) / 4 % 4);
  const int body = min(begin + (4 - misaligned) % 4, end);
  const int num_fours = (end - body) / 4;
  const auto* fours = reinterpret_cast<const float4*>(row + body);
  if (begin + thread < body) visit(begin + thread, row[begin + thread]);
  for (int i = thread; i < num_fours; i += kInFlight * num_threads) {
    float4 loaded[kInFlight];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      if (i + j * num_threads < num_fours) loaded[j] = __ldg(fours + i + j * num_threads);
    }
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      if (i + j * num_threads >= num_fours) break;
      const int id = body + 4 * (i + j * num_threads);
      visit(id, loaded[j].x);
      visit(id + 1, loaded[j].y);
      visit(id + 2, loaded[j].z);
      visit(id + 3, loaded[j].w);
    }
  }
  const int tail = body + 4 * num_fours + thread;
  if (tail < end) visit(tail, row[tail]);
}

}  // namespace detcheck::cuda
