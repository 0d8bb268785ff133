#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace detcheck::cuda {

/// kCount bf16 values (4 or 8) as they are moved between memory and registers: 8 or 16 bytes.
template <int kCount>
struct Bf16Vector {
  static_assert(kCount == 4 || kCount == 8);
  uint32_t pairs[kCount / 2];

  /// `from` is aligned to the vector.
  static __device__ __forceinline__ Bf16Vector Load(const __nv_bfloat16* from) {
    Bf16Vector v;
    if constexpr (kCount == 8) {
      const uint4 bits = *reinterpret_cast<const uint4*>(from);
      v.pairs[0] = bits.x, v.pairs[1] = bits.y, v.pairs[2] = bits.z, v.pairs[3] = bits.w;
    } else {
      const uint2 bits = *reinterpret_cast<const uint2*>(from);
      v.pairs[0] = bits.x, v.pairs[1] = bits.y;
    }
    return v;
  }

  __device__ __forceinline__ void Store(__nv_bfloat16* to) const {
    if constexpr (kCount == 8) {
      *reinterpret_cast<uint4*>(to) = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
    } else {
      *reinterpret_cast<uint2*>(to) = make_uint2(pairs[0], pairs[1]);
    }
  }

  /// Each value rounded to nearest, ties to even.
  static __device__ __forceinline__ Bf16Vector Round(const float (&values)[kCount]) {
    Bf16Vector v;
#pragma unroll
    for (int i = 0; i < kCount; i += 2) {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(values[i], values[i + 1]);
      v.pairs[i / 2] = *reinterpret_cast<const uint32_t*>(&pair);
    }
    return v;
  }

  __device__ __forceinline__ void Widen(float (&values)[kCount]) const {
#pragma unroll
    for (int i = 0; i < kCount; i += 2) {
      values[i] = __uint_as_float(pairs[i / 2] << 16);
      values[i + 1] = __uint_as_float(pairs[i / 2] & 0xffff0000u);
    }
  }
};

/// Rounds each value to bf16 and keeps it as float32.
template <int kCount>
__device__ __forceinline__ void RoundToBf16(float (&values)[kCount]) {
  Bf16Vector<kCount>::Round(values).Widen(values);
}

/// kCount consecutive float32 values, 16-byte aligned.
template <int kCount>
__device__ __forceinline__ void LoadFloats(const float* from, float (&values)[kCount]) {
  static_assert(kCount % 4 == 0);
#pragma unroll
  for (int i = 0; i < kCount; i += 4) {
    const float4 four = *reinterpret_cast<const float4*>(from + i);
    values[i] = four.x, values[i + 1] = four.y, values[i + 2] = four.z, values[i + 3] = four.w;
  }
}

}  // namespace detcheck::cuda
