#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "engine/embedded/cuda/attention_work.h"

/// What one warp of the `flash` backend does with 16 query rows and 64 keys: the one place where
/// the bits of a row are made, for the decode and the prefill kernel alike.
///
/// Order, for each row on its own: scores are one chain of mma over E ascending; the row's maximum
/// is exact; weights exp2((s - max) * scale) are rounded to bf16 and multiplied with V by one chain
/// of mma over the keys ascending, on top of the output rescaled by exp2((max before - max) *
/// scale); the sum of weights has four partial sums, of the keys that are 0, 1, 2, 3 mod 4 when
/// counted in pairs, added up in one order at the end of a split. A key that the row may not see
/// has score -inf; a block of such keys multiplies by exp2(0) = 1 and adds zeros: the exact
/// identity. Nothing depends on the other rows of the tile.
///
/// Lanes: lane 4 * i + j holds, of rows i and i + 8 (r = 0, 1), columns 8 * n + 2 * j and the next
/// in elements [n][2 * r] and [n][2 * r + 1], as mma.m16n8k16 has it.
namespace detcheck::cuda::flash {

inline constexpr unsigned kAllLanes = 0xffffffffu;

/// Shared memory of 64 rows of K or V: rows of E / 8 chunks of 16 bytes, the chunks of a row
/// permuted so that 8 rows' chunks of one column lie in different banks. Tiles begin at multiples
/// of 256 bytes, so that column c of a row lies at the address of column 0 with c * 2 flipped into
/// it.
template <int E>
struct KvTile {
  static constexpr int kChunks = E / 8;
  static constexpr int kBytes = kKeyBlock * E * 2;

  static __device__ __forceinline__ int Permutation(int row) {
    return E >= 64 ? row & 7 : (row >> 1) & 3;
  }
  static __device__ __forceinline__ uint32_t Offset(int row, int chunk) {
    return static_cast<uint32_t>((row * kChunks + (chunk ^ Permutation(row))) * 16);
  }
};

__device__ __forceinline__ float NegativeInfinity() {
  return __int_as_float(0xff800000);
}

/// 2^x by the one instruction used everywhere; exp2(0) = 1 and exp2(-inf) = 0 exactly.
__device__ __forceinline__ float Exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ uint32_t SharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Copies 16 bytes, or writes zeros where not `valid` (`from` must be an address all the same).
__device__ __forceinline__ void CopyChunk(uint32_t to, const void* from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "r"(valid ? 16 : 0)
               : "memory");
}

/// Copies 4 bytes.
__device__ __forceinline__ void CopyWord(uint32_t to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}

__device__ __forceinline__ void CommitCopies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits for all but the last kPending groups of this thread's copies.
template <int kPending>
__device__ __forceinline__ void WaitCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

__device__ __forceinline__ void LoadMatrices(uint32_t address, uint32_t (&m)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(address)
               : "memory");
}

__device__ __forceinline__ void LoadMatricesTransposed(uint32_t address, uint32_t (&m)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(address)
               : "memory");
}

/// c[16, 8] += a[16, 16] · b[16, 8].
__device__ __forceinline__ void Mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                    uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Two floats rounded to bf16, the first in the low half.
__device__ __forceinline__ uint32_t PackBf16(float low, float high) {
  const __nv_bfloat162 packed = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&packed);
}

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

/// A warp's 16 rows.
template <int E>
struct WarpRows {
  uint32_t q[E / 16][4];
  float output[E / 8][4];  ///< Of the current split, not normalised.
  float total[E / 8][4];   ///< Of the splits before it, merged.
  float max[2];
  float sum[2];  ///< This lane's part.
  float total_max[2];
  float total_sum[2];
  int position[2];

  __device__ __forceinline__ void Reset();
  /// Where queries[r] is null the row is zero.
  __device__ __forceinline__ void LoadQueries(const __nv_bfloat16* const (&queries)[2]);
  __device__ __forceinline__ void Attend(uint32_t k_tile, uint32_t v_tile, int first_key,
                                         float scale);
  /// Merges the current split into the total, and starts a new one.
  __device__ __forceinline__ void EndSplit(float scale);

 private:
  __device__ __forceinline__ void StartSplit();
  __device__ __forceinline__ void Scores(uint32_t k_tile, float (&s)[8][4]) const;
  __device__ __forceinline__ void MaskKeys(int first_key, float (&s)[8][4]) const;
  __device__ __forceinline__ void Softmax(float scale, float (&s)[8][4]);
  __device__ __forceinline__ void AddValues(uint32_t v_tile, const float (&s)[8][4]);
};

template <int E>
__device__ __forceinline__ void WarpRows<E>::StartSplit() {
#pragma unroll
  for (int n = 0; n < E / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) output[n][i] = 0.0f;
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    max[r] = NegativeInfinity();
    sum[r] = 0.0f;
  }
}

template <int E>
__device__ __forceinline__ void WarpRows<E>::Reset() {
  StartSplit();
#pragma unroll
  for (int n = 0; n < E / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) total[n][i] = EmptyOutput();
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    total_max[r] = NegativeInfinity();
    total_sum[r] = 0.0f;
  }
}

template <int E>
__device__ __forceinline__ void WarpRows<E>::LoadQueries(const __nv_bfloat16* const (&queries)[2]) {
  const int column = static_cast<int>(threadIdx.x % 4) * 2;
#pragma unroll
  for (int k = 0; k < E / 16; ++k) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const __nv_bfloat16* row = queries[i % 2];
      q[k][i] = row == nullptr
                    ? 0u
                    : *reinterpret_cast<const uint32_t*>(row + k * 16 + column + (i / 2) * 8);
    }
  }
}

template <int E>
__device__ __forceinline__ void WarpRows<E>::Scores(uint32_t k_tile, float (&s)[8][4]) const {
#pragma unroll
  for (int n = 0; n < 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) s[n][i] = 0.0f;
  }
  // Matrices of one load: keys 0-7, columns 0-7; keys 0-7, 8-15; keys 8-15, 0-7; keys 8-15, 8-15.
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int key = (lane / 16) * 8 + lane % 8;
  const uint32_t first = k_tile + KvTile<E>::Offset(key, (lane / 8) % 2);
#pragma unroll
  for (int k = 0; k < E / 16; ++k) {
    const uint32_t address = first ^ static_cast<uint32_t>(k * 32);
#pragma unroll
    for (int n = 0; n < 8; n += 2) {
      uint32_t b[4];
      LoadMatrices(address + static_cast<uint32_t>(n * 8 * E * 2), b);
      Mma(s[n], q[k], b[0], b[1]);
      Mma(s[n + 1], q[k], b[2], b[3]);
    }
  }
}

template <int E>
__device__ __forceinline__ void WarpRows<E>::MaskKeys(int first_key, float (&s)[8][4]) const {
  if (first_key + kKeyBlock - 1 <= min(position[0], position[1])) return;
  const int column = first_key + static_cast<int>(threadIdx.x % 4) * 2;
#pragma unroll
  for (int n = 0; n < 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (column + n * 8 + i % 2 > position[i / 2]) s[n][i] = NegativeInfinity();
    }
  }
}

/// Scores become weights.
template <int E>
__device__ __forceinline__ void WarpRows<E>::Softmax(float scale, float (&s)[8][4]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float new_max = max[r];
#pragma unroll
    for (int n = 0; n < 8; ++n) new_max = fmaxf(new_max, fmaxf(s[n][2 * r], s[n][2 * r + 1]));
    new_max = fmaxf(new_max, __shfl_xor_sync(kAllLanes, new_max, 1));
    new_max = fmaxf(new_max, __shfl_xor_sync(kAllLanes, new_max, 2));
    // Nothing seen yet: any finite number keeps -inf - -inf away.
    const float base = new_max == NegativeInfinity() ? 0.0f : new_max;
    const float rescale = Exp2(__fmul_rn(__fsub_rn(max[r], base), scale));
    const float offset = -__fmul_rn(base, scale);
    max[r] = new_max;
    float even = 0.0f, odd = 0.0f;
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      s[n][2 * r] = Exp2(__fmaf_rn(s[n][2 * r], scale, offset));
      s[n][2 * r + 1] = Exp2(__fmaf_rn(s[n][2 * r + 1], scale, offset));
      even = __fadd_rn(even, s[n][2 * r]);
      odd = __fadd_rn(odd, s[n][2 * r + 1]);
    }
    sum[r] = __fmaf_rn(sum[r], rescale, __fadd_rn(even, odd));
#pragma unroll
    for (int n = 0; n < E / 8; ++n) {
      output[n][2 * r] = __fmul_rn(output[n][2 * r], rescale);
      output[n][2 * r + 1] = __fmul_rn(output[n][2 * r + 1], rescale);
    }
  }
}

template <int E>
__device__ __forceinline__ void WarpRows<E>::AddValues(uint32_t v_tile, const float (&s)[8][4]) {
  // Matrices of one load: keys 0-7, columns 0-7; keys 8-15, 0-7; keys 0-7, 8-15; keys 8-15, 8-15.
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int key = lane % 16;
  const uint32_t first = v_tile + KvTile<E>::Offset(key, lane / 16);
#pragma unroll
  for (int k = 0; k < kKeyBlock / 16; ++k) {
    const uint32_t weights[4] = {
        PackBf16(s[2 * k][0], s[2 * k][1]), PackBf16(s[2 * k][2], s[2 * k][3]),
        PackBf16(s[2 * k + 1][0], s[2 * k + 1][1]), PackBf16(s[2 * k + 1][2], s[2 * k + 1][3])};
#pragma unroll
    for (int n = 0; n < E / 8; n += 2) {
      uint32_t b[4];
      const uint32_t address = first ^ static_cast<uint32_t>(n * 16);
      LoadMatricesTransposed(address + static_cast<uint32_t>(k * 16 * E * 2), b);
      Mma(output[n], weights, b[0], b[1]);
      Mma(output[n + 1], weights, b[2], b[3]);
    }
  }
}

template <int E>
__device__ __forceinline__ void WarpRows<E>::Attend(uint32_t k_tile, uint32_t v_tile, int first_key,
                                                    float scale) {
  float s[8][4];
  Scores(k_tile, s);
  MaskKeys(first_key, s);
  Softmax(scale, s);
  AddValues(v_tile, s);
}

template <int E>
__device__ __forceinline__ void WarpRows<E>::EndSplit(float scale) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float split_sum = __fadd_rn(sum[r], __shfl_xor_sync(kAllLanes, sum[r], 1));
    split_sum = __fadd_rn(split_sum, __shfl_xor_sync(kAllLanes, split_sum, 2));
    // A split that begins beyond the row's position leaves the row untouched.
    if (max[r] == NegativeInfinity()) continue;
    const Merge merge(total_max[r], max[r], scale);
    total_max[r] = merge.new_max;
    total_sum[r] = merge(total_sum[r], split_sum);
#pragma unroll
    for (int n = 0; n < E / 8; ++n) {
      total[n][2 * r] = merge(total[n][2 * r], output[n][2 * r]);
      total[n][2 * r + 1] = merge(total[n][2 * r + 1], output[n][2 * r + 1]);
    }
  }
  StartSplit();
}

}  // namespace detcheck::cuda::flash
