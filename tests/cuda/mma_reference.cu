#include <cstdint>

#include "engine/embedded/cuda/check.h"
#include "tests/cuda/mma_reference.h"

namespace detcheck::cuda {
namespace {

// Elements (row, col) and (row, col + 1) of a [num_rows, width] matrix, zero beyond its edges.
__device__ uint32_t Pair(const __nv_bfloat16* matrix, int num_rows, int width, int row, int col) {
  if (row >= num_rows || col >= width) return 0;
  return *reinterpret_cast<const uint32_t*>(matrix + static_cast<int64_t>(row) * width + col);
}

// x [M, K], w [N, K], out [M, N]. Launch: blocks (N / 16, M / 8), one warp each, for a tile of 16
// columns and 8 rows of out. Order: K ascending in steps of 16, each one mma on one accumulator.
// Twin: all configurations of cuBLASLt that do not split K.
__global__ void SequentialMmaKernel(int m, int n, int k, const __nv_bfloat16* x,
                                    const __nv_bfloat16* w, float* out) {
  const int group = static_cast<int>(threadIdx.x) / 4;
  const int pair = static_cast<int>(threadIdx.x) % 4 * 2;
  const int col = static_cast<int>(blockIdx.x) * 16 + group;
  const int row = static_cast<int>(blockIdx.y) * 8;
  float c[4] = {0, 0, 0, 0};
  for (int step = 0; step < k; step += 16) {
    const uint32_t a0 = Pair(w, n, k, col, step + pair);
    const uint32_t a1 = Pair(w, n, k, col + 8, step + pair);
    const uint32_t a2 = Pair(w, n, k, col, step + pair + 8);
    const uint32_t a3 = Pair(w, n, k, col + 8, step + pair + 8);
    const uint32_t b0 = Pair(x, m, k, row + group, step + pair);
    const uint32_t b1 = Pair(x, m, k, row + group, step + pair + 8);
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
  for (int i = 0; i < 4; ++i) {
    const int out_row = row + pair + i % 2;
    const int out_col = col + i / 2 * 8;
    if (out_row < m && out_col < n) out[static_cast<int64_t>(out_row) * n + out_col] = c[i];
  }
}

}  // namespace

void MultiplyBySequentialMma(int m, int n, int k, const __nv_bfloat16* x, const __nv_bfloat16* w,
                             float* out, cudaStream_t stream) {
  const dim3 blocks(static_cast<uint32_t>((n + 15) / 16), static_cast<uint32_t>((m + 7) / 8));
  SequentialMmaKernel<<<blocks, 32, 0, stream>>>(m, n, k, x, w, out);
  DETCHECK_CUDA(cudaGetLastError());
}

}  // namespace detcheck::cuda
