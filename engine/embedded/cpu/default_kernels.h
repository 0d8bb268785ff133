#pragma once

#include <cstdint>

#include "engine/embedded/cpu/rounding.h"

namespace detcheck::cpu {

/// Row kernels of default mode, of one SIMD level. Written for speed: the order of additions
/// depends on the kernel, and default mode chooses the kernel by the number of rows.
struct DefaultKernels {
  /// x = round(x + delta) where delta is not null, then out = round(round(x / rms(x)) · gain), for
  /// rows of `width` values that follow one another. One row: its squares are added in eight
  /// chains, the shortest for a row alone. Four rows: one chain each, the fastest for many rows.
  void (*norm_1)(float* x, const float* delta, const float* gain, float eps, int64_t width,
                 Rounding rounding, float* out);
  void (*norm_4)(float* x, const float* delta, const float* gain, float eps, int64_t width,
                 Rounding rounding, float* out);
  /// In place on scores[width]: softmax(scores · scale) over the first `visible`, zeros after them.
  void (*softmax)(float* scores, int64_t visible, int64_t width, float scale);
};

}  // namespace detcheck::cpu
