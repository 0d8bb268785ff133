#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "engine/embedded/options.h"

namespace detcheck {

/// 2 or 4.
size_t DTypeBytes(DType dtype);

/// Name as in config.json: "bfloat16", "float16" or "float32".
const char* DTypeName(DType dtype);

inline float FloatFromBf16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

/// Round to nearest, ties to even; a NaN stays a NaN (quiet), what is too large becomes infinite.
inline uint16_t Bf16FromFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const bool nan = (bits & 0x7fffffff) > 0x7f800000;
  return static_cast<uint16_t>(nan ? (bits >> 16) | 0x40 : rounded);
}

/// IEEE 754 binary16, exact.
float FloatFromF16(uint16_t bits);

/// Round to nearest, ties to even, subnormals included; a NaN stays a NaN, what is too large
/// becomes infinite.
uint16_t F16FromFloat(float value);

/// Writes `count` elements at `in` as elements of `to` at `out`, through float32: widening is
/// exact, narrowing rounds to nearest even. The ranges must not overlap; no alignment is needed.
/// Returns the index of the first element that is not finite in `to`, or -1.
int64_t ConvertElements(DType from, const void* in, DType to, void* out, int64_t count);

}  // namespace detcheck
