#pragma once

#include <bit>
#include <cstdint>

namespace detcheck::cpu {

/// The 16-bit formats, one value at a time; arrays go through MathKernels, with the same results.

inline float Bf16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// To the nearest, ties to even; overflow to infinity; NaN stays NaN.
inline uint16_t FloatToBf16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if (x != x) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// Exact, subnormals included.
float F16ToFloat(uint16_t bits);

/// To the nearest, ties to even, subnormals included; overflow to infinity; NaN stays NaN.
uint16_t FloatToF16(float x);

}  // namespace detcheck::cpu
