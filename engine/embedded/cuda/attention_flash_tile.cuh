#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "engine/embedded/cuda/attention_mma.cuh"

/// What the `flash` backend does with 16 query rows and a block of 64 keys: the one place where the
/// bits of a row are made, for the decode and the prefill kernel alike.
///
/// Order, for each row on its own: scores are one chain of mma over E ascending; the row's maximum
/// is exact; weights exp2((s - max) * scale) are rounded to bf16 and multiplied with V by one chain
/// of mma over the keys ascending, on top of the output rescaled by exp2((max before - max) *
/// scale); the sum of weights is one more column of the output, whose values are ones. A key that
/// the row may not see has score -inf; a block of such keys multiplies by exp2(0) = 1 and adds
/// zeros: the exact identity. Nothing depends on the other rows of the tile.
///
/// So a block's work has two parts, and each element of either is made on its own: the score of a
/// row and a key, and the output of a row and a column. A warp of the prefill kernel makes all 64
/// scores and all E columns of its rows. In the decode kernel four warps share 16 rows: each makes
/// the scores of 16 keys and the outputs of a quarter of the columns over all 64 keys. They call
/// the functions below with other numbers of tiles; which warp makes an element, and what else it
/// makes, is not in the element's arithmetic, so both give the same bits. Maxima are exchanged
/// (exact in any order), weights too (already rounded); the sum is made by every warp.
///
/// Lanes: lane 4 * i + j holds, of rows i and i + 8 (r = 0, 1), columns 8 * n + 2 * j and the next
/// in elements [n][2 * r] and [n][2 * r + 1], as mma.m16n8k16 has it.
namespace detcheck::cuda::flash {

/// How a total and the split to its right become one.
struct Merge {
  /// Of states whose maxima are `total_max` and `max`; `max` is not -inf.
  __device__ __forceinline__ Merge(float total_max, float max, float scale) {
    new_max = fmaxf(total_max, max);
    left = Exp2(__fmul_rn(__fsub_rn(total_max, new_max), scale));
    right = Exp2(__fmul_rn(__fsub_rn(max, new_max), scale));
  }

  __device__ __forceinline__ float operator()(float total, float value) const {
    return __fmaf_rn(total, left, __fmul_rn(value, right));
  }

  float new_max, left, right;
};

/// Output before anything was merged into it: merging into it gives the split's bits, a zero's sign
/// included (with maximum -inf and sum 0).
__device__ __forceinline__ float EmptyOutput() {
  return -0.0f;
}

/// A row's result.
__device__ __forceinline__ float Normalised(float output, float sum) {
  return __fdiv_rn(output, sum);
}

/// How a row takes a block whose largest score is `block_max`, after blocks with maximum `max`.
struct BlockUpdate {
  __device__ __forceinline__ BlockUpdate(float max, float block_max, float scale) {
    new_max = fmaxf(max, block_max);
    // Nothing seen yet: any finite number keeps -inf - -inf away.
    const float base = new_max == NegativeInfinity() ? 0.0f : new_max;
    rescale = Exp2(__fmul_rn(__fsub_rn(max, base), scale));
    offset = -__fmul_rn(base, scale);
  }

  __device__ __forceinline__ float Weight(float score, float scale) const {
    return Exp2(__fmaf_rn(score, scale, offset));
  }

  float new_max, rescale, offset;
};

/// Scores of 8 * kTiles keys, whose rows begin at `k_rows`: a row of a tile, a multiple of 8.
template <int E, int kTiles>
__device__ __forceinline__ void Scores(uint32_t k_rows, const uint32_t (&q)[E / 16][4],
                                       float (&s)[kTiles][4]) {
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) s[n][i] = 0.0f;
  }
  // Matrices of one load: keys 0-7, columns 0-7; keys 0-7, 8-15; keys 8-15, 0-7; keys 8-15, 8-15.
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int key = (lane / 16) * 8 + lane % 8;
  const uint32_t first = k_rows + KvTile<E>::Offset(key, (lane / 8) % 2);
#pragma unroll
  for (int k = 0; k < E / 16; ++k) {
    const uint32_t address = first ^ static_cast<uint32_t>(k * 32);
#pragma unroll
    for (int n = 0; n < kTiles; n += 2) {
      uint32_t b[4];
      LoadMatrices(address + static_cast<uint32_t>(n * 8 * E * 2), b);
      Mma(s[n], q[k], b[0], b[1]);
      Mma(s[n + 1], q[k], b[2], b[3]);
    }
  }
}

/// Scores of keys beyond a row's position become -inf. `first_key`: the position of the first one.
template <int kTiles>
__device__ __forceinline__ void MaskKeys(int first_key, const int (&position)[2],
                                         float (&s)[kTiles][4]) {
  if (first_key + kTiles * 8 - 1 <= min(position[0], position[1])) return;
  const int column = first_key + static_cast<int>(threadIdx.x % 4) * 2;
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (column + n * 8 + i % 2 > position[i / 2]) s[n][i] = NegativeInfinity();
    }
  }
}

/// Largest score of row r; in all four lanes of the row.
template <int kTiles>
__device__ __forceinline__ float RowMax(const float (&s)[kTiles][4], int r) {
  float max = NegativeInfinity();
#pragma unroll
  for (int n = 0; n < kTiles; ++n) max = fmaxf(max, fmaxf(s[n][2 * r], s[n][2 * r + 1]));
  max = fmaxf(max, __shfl_xor_sync(kAllLanes, max, 1));
  return fmaxf(max, __shfl_xor_sync(kAllLanes, max, 2));
}

/// A warp's 16 rows: output of 8 * kTiles columns, the sum of weights, and the maximum.
template <int E, int kTiles>
struct WarpRows {
  float output[kTiles][4];  ///< Of the current split, not normalised.
  float total[kTiles][4];   ///< Of the splits before it, merged.
  float sum[4];  ///< Of the current split: a column of ones, elements 2r and 2r + 1 alike.
  float max[2];
  float total_max[2];
  float total_sum[2];

  __device__ __forceinline__ void Reset();
  /// Takes a block's maximum into row r.
  __device__ __forceinline__ void Rescale(int r, const BlockUpdate& update);
  /// Adds the values and weights of a block, columns from `first_tile` * 8 on; weights[k]: of keys
  /// 16 * k and the next 15, as mma takes them.
  __device__ __forceinline__ void AddValues(uint32_t v_tile, int first_tile,
                                            const uint32_t (&weights)[kKeyBlock / 16][4]);
  /// Adds the weights of a block to the sum: a chain of mma over the keys ascending.
  __device__ __forceinline__ void AddWeights(const uint32_t (&weights)[kKeyBlock / 16][4]);
  /// Merges the current split into the total, and starts a new one.
  __device__ __forceinline__ void EndSplit(float scale);

 private:
  __device__ __forceinline__ void StartSplit();
};

template <int E, int kTiles>
__device__ __forceinline__ void WarpRows<E, kTiles>::StartSplit() {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sum[i] = 0.0f;
#pragma unroll
    for (int n = 0; n < kTiles; ++n) output[n][i] = 0.0f;
  }
  max[0] = max[1] = NegativeInfinity();
}

template <int E, int kTiles>
__device__ __forceinline__ void WarpRows<E, kTiles>::Reset() {
  StartSplit();
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) total[n][i] = EmptyOutput();
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    total_max[r] = NegativeInfinity();
    total_sum[r] = 0.0f;
  }
}

template <int E, int kTiles>
__device__ __forceinline__ void WarpRows<E, kTiles>::Rescale(int r, const BlockUpdate& update) {
  max[r] = update.new_max;
#pragma unroll
  for (int i = 2 * r; i < 2 * r + 2; ++i) {
    sum[i] = __fmul_rn(sum[i], update.rescale);
#pragma unroll
    for (int n = 0; n < kTiles; ++n) output[n][i] = __fmul_rn(output[n][i], update.rescale);
  }
}

template <int E, int kTiles>
__device__ __forceinline__ void WarpRows<E, kTiles>::AddValues(
    uint32_t v_tile, int first_tile, const uint32_t (&weights)[kKeyBlock / 16][4]) {
  // Matrices of one load: keys 0-7, columns 0-7; keys 8-15, 0-7; keys 0-7, 8-15; keys 8-15, 8-15.
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int key = lane % 16;
  const uint32_t first = v_tile + KvTile<E>::Offset(key, first_tile + lane / 16);
#pragma unroll
  for (int k = 0; k < kKeyBlock / 16; ++k) {
#pragma unroll
    for (int n = 0; n < kTiles; n += 2) {
      uint32_t b[4];
      const uint32_t address = first ^ static_cast<uint32_t>(n * 16);
      LoadMatricesTransposed(address + static_cast<uint32_t>(k * 16 * E * 2), b);
      Mma(output[n], weights[k], b[0], b[1]);
      Mma(output[n + 1], weights[k], b[2], b[3]);
    }
  }
  AddWeights(weights);
}

template <int E, int kTiles>
__device__ __forceinline__ void WarpRows<E, kTiles>::AddWeights(
    const uint32_t (&weights)[kKeyBlock / 16][4]) {
  constexpr uint32_t kOnes = 0x3f803f80;
#pragma unroll
  for (int k = 0; k < kKeyBlock / 16; ++k) Mma(sum, weights[k], kOnes, kOnes);
}

template <int E, int kTiles>
__device__ __forceinline__ void WarpRows<E, kTiles>::EndSplit(float scale) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    // A split that begins beyond the row's position leaves the row untouched.
    if (max[r] == NegativeInfinity()) continue;
    const Merge merge(total_max[r], max[r], scale);
    total_max[r] = merge.new_max;
    total_sum[r] = merge(total_sum[r], sum[2 * r]);
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      total[n][2 * r] = merge(total[n][2 * r], output[n][2 * r]);
      total[n][2 * r + 1] = merge(total[n][2 * r + 1], output[n][2 * r + 1]);
    }
  }
  StartSplit();
}

}  // namespace detcheck::cuda::flash
