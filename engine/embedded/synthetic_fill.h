#pragma once

#include <cstdint>

#include "engine/embedded/options.h"

namespace detcheck {

/// One tensor of a synthetic model. Element i (row-major, 0-based) is, in float32 arithmetic with
/// each operation rounded to nearest even,
///
///     word = Philox4x32({lo(i / 4), hi(i / 4), index, 1}, {lo(seed), hi(seed)})[i mod 4]
///     element = round_to_dtype(base + float32(b0 + b1 + b2 + b3 - 510) · scale)
///
/// with lo and hi the low and high 32 bits and b0..b3 the four bytes of the word. The sum of four
/// bytes has mean 510 and variance 4 · (256² - 1) / 12 = 21845 and is near a normal distribution,
/// within 3.45 standard deviations: scale = std / sqrt(21845). Any element can be made alone, on
/// any device, with the same bits.
struct SyntheticTensor {
  uint64_t seed = 0;
  uint32_t index = 0;  ///< Which tensor of the model.
  float base = 0.0f;
  float scale = 0.0f;

  /// float32 nearest to std / sqrt(21845), from float64.
  static float ScaleOf(double std);
};

/// Element `i` alone, before it is rounded to a dtype.
float SyntheticElement(const SyntheticTensor& tensor, int64_t i);

/// Writes elements 0 .. count - 1 as `dtype` to `out`, aligned to the element, with at most
/// `num_threads` threads (>= 1).
void FillSynthetic(const SyntheticTensor& tensor, int64_t count, DType dtype, int num_threads,
                   void* out);

}  // namespace detcheck
