#include "engine/embedded/cuda/bf16_vector.cuh"
#include "engine/embedded/cuda/check.h"
#include "engine/embedded/cuda/philox.cuh"
#include "engine/embedded/cuda/synthetic_fill.h"

namespace detcheck::cuda {
namespace {

constexpr uint32_t kWeightsDomain = 1;  // Last counter word, as on the host.
constexpr int kElements = 8;            // Of one thread: two counters, 16 bytes.
constexpr int kThreads = 256;

__device__ __forceinline__ float ElementOf(const SyntheticTensor& tensor, uint32_t word) {
  const int sum = static_cast<int>(__dp4a(word, 0x01010101u, 0u));  // Of its four bytes.
  return __fadd_rn(tensor.base, __fmul_rn(__int2float_rn(sum - 510), tensor.scale));
}

// Shapes: out [count]. Launch: one thread per 8 elements, any number of CTAs.
// Order: element by element, each a function of (seed, index, i) alone.
// Twin: detcheck::FillSynthetic on the host, the same bits.
__global__ void __launch_bounds__(kThreads)
    FillKernel(SyntheticTensor tensor, int64_t count, __nv_bfloat16* out) {
  const int64_t vector = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t first = vector * kElements;
  if (first >= count) return;
  const auto key0 = static_cast<uint32_t>(tensor.seed);
  const auto key1 = static_cast<uint32_t>(tensor.seed >> 32);
  float values[kElements];
#pragma unroll
  for (int i = 0; i < kElements; i += 4) {
    const auto counter = static_cast<uint64_t>(first + i) / 4;
    const uint4 words =
        Philox4x32({static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
                    tensor.index, kWeightsDomain},
                   key0, key1);
    values[i] = ElementOf(tensor, words.x);
    values[i + 1] = ElementOf(tensor, words.y);
    values[i + 2] = ElementOf(tensor, words.z);
    values[i + 3] = ElementOf(tensor, words.w);
  }
  const bool aligned = reinterpret_cast<uintptr_t>(out) % 16 == 0;
  if (aligned && first + kElements <= count) {
    Bf16Vector<kElements>::Round(values).Store(out + first);
    return;
  }
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    if (first + i < count) out[first + i] = __float2bfloat16_rn(values[i]);
  }
}

}  // namespace

void FillSynthetic(const SyntheticTensor& tensor, int64_t count, __nv_bfloat16* out,
                   cudaStream_t stream) {
  if (count == 0) return;
  constexpr int64_t kPerCta = int64_t{kThreads} * kElements;
  const auto num_ctas = static_cast<unsigned>((count + kPerCta - 1) / kPerCta);
  FillKernel<<<num_ctas, kThreads, 0, stream>>>(tensor, count, out);
  DETCHECK_CUDA(cudaGetLastError());
}

}  // namespace detcheck::cuda
