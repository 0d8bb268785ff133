#pragma once

#include <cstdint>

#include "engine/embedded/cpu/buffer.h"
#include "engine/embedded/cpu/dispatch.h"
#include "engine/embedded/cpu/packed_matrix.h"
#include "engine/embedded/cpu/rounding.h"
#include "engine/embedded/cpu/thread_pool.h"

namespace detcheck::cpu {

/// Scratch memory of Gemm, kept between calls. One per thread that calls Gemm.
struct GemmWorkspace {
  Buffer x_tiles;
};

/// out[M, N] = X[M, K] W[N, K]^T. `x` is float32 [num_rows, K], `out` float32 [num_rows, N], both
/// row major without gaps; they must not overlap.
///
/// Order: each element is one chain of fused multiply-adds over ascending k, started at +0, then
/// rounded once to `rounding`. So a row of `out` depends on its row of X and on W alone: not on
/// num_rows, the other rows, its place among them, the number of threads or the SIMD level.
void Gemm(const KernelTable& kernels, ThreadPool& pool, const float* x, int64_t num_rows,
          const PackedMatrix& w, Rounding rounding, float* out, GemmWorkspace& workspace);

}  // namespace detcheck::cpu
