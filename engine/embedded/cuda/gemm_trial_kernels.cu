#include <algorithm>

#include "engine/embedded/cuda/check.h"
#include "engine/embedded/cuda/gemm_trial_kernels.h"

namespace detcheck::cuda {
namespace {

constexpr int kThreads = 256;

// Elements [count]; any launch. Order: none, each element is computed by itself.
__global__ void FillRandomKernel(int64_t count, uint32_t seed, __nv_bfloat16* out) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += step) {
    // The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    uint64_t z = (static_cast<uint64_t>(i) + 1) * 0x9E3779B97F4A7C15u + seed * 0xD1B54A32D192ED03u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    const auto bits = static_cast<int32_t>(z >> 40);  // 24 bits.
    out[i] = __float2bfloat16_rn(static_cast<float>(bits - (1 << 23)) * 0x1p-23f);
  }
}

// out [gridDim.x, width], one block a row. Order: none, elements are copied.
__global__ void RepeatRowsKernel(RowTable<const __nv_bfloat16> table, __nv_bfloat16* out) {
  const __nv_bfloat16* from = table.rows + (blockIdx.x % table.num_rows) * table.stride;
  __nv_bfloat16* to = out + blockIdx.x * table.width;
  for (int64_t col = threadIdx.x; col < table.width; col += kThreads) to[col] = from[col];
}

__device__ uint32_t Bits(float value) {
  return __float_as_uint(value);
}

__device__ uint32_t Bits(__nv_bfloat16 value) {
  return __bfloat16_as_ushort(value);
}

__device__ void Round(float value, float* out) {
  *out = value;
}

__device__ void Round(float value, __nv_bfloat16* out) {
  *out = __float2bfloat16_rn(value);
}

// out [gridDim.x, width], one block a row. Order: integers are added, so any order gives the same.
template <typename T>
__global__ void CountDifferencesKernel(const T* out, RowTable<const float> expected,
                                       uint32_t* count) {
  const float* want = expected.rows + (blockIdx.x % expected.num_rows) * expected.stride;
  const T* got = out + blockIdx.x * expected.width;
  uint32_t num_different = 0;
  for (int64_t col = threadIdx.x; col < expected.width; col += kThreads) {
    T rounded;
    Round(want[col], &rounded);
    num_different += Bits(got[col]) != Bits(rounded) ? 1 : 0;
  }
  if (num_different > 0) atomicAdd(count, num_different);
}

}  // namespace

void FillRandom(int64_t count, uint32_t seed, __nv_bfloat16* out, cudaStream_t stream) {
  const int64_t num_blocks = std::clamp<int64_t>((count + kThreads - 1) / kThreads, 1, 4096);
  FillRandomKernel<<<static_cast<uint32_t>(num_blocks), kThreads, 0, stream>>>(count, seed, out);
  DETCHECK_CUDA(cudaGetLastError());
}

void RepeatRows(const RowTable<const __nv_bfloat16>& table, int num_rows, __nv_bfloat16* out,
                cudaStream_t stream) {
  RepeatRowsKernel<<<static_cast<uint32_t>(num_rows), kThreads, 0, stream>>>(table, out);
  DETCHECK_CUDA(cudaGetLastError());
}

void CountDifferences(const void* out, GemmOutput output, int num_rows,
                      const RowTable<const float>& expected, uint32_t* count, cudaStream_t stream) {
  const auto num_blocks = static_cast<uint32_t>(num_rows);
  if (output == GemmOutput::kBf16) {
    CountDifferencesKernel<<<num_blocks, kThreads, 0, stream>>>(
        static_cast<const __nv_bfloat16*>(out), expected, count);
  } else {
    CountDifferencesKernel<<<num_blocks, kThreads, 0, stream>>>(static_cast<const float*>(out),
                                                                expected, count);
  }
  DETCHECK_CUDA(cudaGetLastError());
}

}  // namespace detcheck::cuda
