#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "engine/embedded/cuda/attention.h"
#include "engine/embedded/cuda/step_arrays.h"

/// Operations on single rows. Each result row is a function of its own inputs in one fixed order
/// that depends on the row's length alone: the same in both modes, for any number of rows.
namespace detcheck::cuda {

/// Throws Error(kUnsupported) for widths D and F that the operations do not take: they load 8
/// values at once, and AddRmsNorm at most 16,384.
void RequireRowWidths(int hidden_size, int intermediate_size);

/// out[T, D] = rows `ids` of table [V, D].
void Embed(const __nv_bfloat16* table, const int32_t* ids, int num_rows, int width,
           __nv_bfloat16* out, cudaStream_t stream);

/// residual[rows, D] = bf16(residual + delta) where delta is not null; then
/// out = bf16(bf16(residual · rsqrt(mean(residual²) + eps)) · gain[D]), sums in float32.
void AddRmsNorm(__nv_bfloat16* residual, const __nv_bfloat16* delta, const float* gain, float eps,
                int num_rows, int width, __nv_bfloat16* out, cudaStream_t stream);

struct RopeTables {
  const float* cos = nullptr;  ///< [context_len, E / 2]
  const float* sin = nullptr;
};

/// In place on qkv[T, (H + 2G)·E]: RMSNorm of each q and k head (gains [E] float32, null: none;
/// rounded as AddRmsNorm's), then RoPE at `positions` (halves rotated, as Hugging Face has it),
/// rounded to bf16; k and v are written to `slots` of `kv`.
void RopeAndWriteKv(const AttentionShape& shape, const RopeTables& rope, const float* q_gain,
                    const float* k_gain, float eps, const int32_t* positions, const int32_t* slots,
                    int num_rows, __nv_bfloat16* qkv, const KvLayer& kv, cudaStream_t stream);

/// out[T, F] = bf16(bf16(silu(g)) · u) of rows [g, u] of gate_up[T, 2F].
void SiluMul(const __nv_bfloat16* gate_up, int num_rows, int width, __nv_bfloat16* out,
             cudaStream_t stream);

/// out[i] = bf16(residual[r] + delta[r]) for r = rows[i].
void SelectRows(const __nv_bfloat16* residual, const __nv_bfloat16* delta, const int32_t* rows,
                int num_rows, int width, __nv_bfloat16* out, cudaStream_t stream);

}  // namespace detcheck::cuda
