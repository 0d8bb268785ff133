#pragma once

// What the tests of the CPU kernels share: seeded values and comparisons of bits.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "engine/embedded/cpu/dispatch.h"
#include "engine/embedded/cpu/float_format.h"

namespace detcheck::cpu {

/// Bits, with all NaN as one: the payload of a NaN is not part of the contract.
inline uint32_t BitsOf(float x) {
  return x != x ? 0x7fc00000 : std::bit_cast<uint32_t>(x);
}

inline std::vector<uint32_t> BitsOf(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  bits.reserve(values.size());
  for (float x : values) bits.push_back(BitsOf(x));
  return bits;
}

/// Values of the size of activations, some of them large.
inline std::vector<float> RandomActivations(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(n);
  for (float& x : values) {
    const float unit = static_cast<float>(random()) * 0x1p-31f - 1.0f;
    x = random() % 16 == 0 ? unit * 100.0f : unit;
  }
  return values;
}

/// Any bits at all, subnormals, infinities and NaN included; exponents near zero are as likely as
/// those near one.
inline std::vector<float> RandomBits(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(n);
  for (float& x : values) {
    uint32_t bits = static_cast<uint32_t>(random());
    const uint32_t kind = static_cast<uint32_t>(random()) % 8;
    if (kind < 4) bits = (bits & 0x807fffff) | ((100 + bits % 56) << 23);
    if (kind == 4) bits = (bits & 0x807fffff) | ((bits % 30) << 23);
    x = std::bit_cast<float>(bits);
  }
  return values;
}

/// Distance from `actual` to the exact `expected`, in units of the last place of float32 there.
inline double UlpError(float actual, long double expected) {
  if (expected == 0) return actual == 0 ? 0 : 1e9;
  const int exponent = std::max(std::ilogb(expected), -126);
  return static_cast<double>(std::fabs(actual - expected) / std::ldexp(1.0L, exponent - 23));
}

}  // namespace detcheck::cpu
