#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace detcheck::cuda {

/// out[M, N] = x[M, K] · w[N, K]ᵀ in float32 by one chain of mma.sync.m16n8k16 per element, K
/// ascending in steps of 16, one accumulator. K is even.
void MultiplyBySequentialMma(int m, int n, int k, const __nv_bfloat16* x, const __nv_bfloat16* w,
                             float* out, cudaStream_t stream);

}  // namespace detcheck::cuda
