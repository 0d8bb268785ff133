#pragma once

#include <cstdint>

namespace detcheck::cpu {

/// Row kernels of default mode, of one SIMD level. Written for speed: the order of additions
/// depends on the kernel, and default mode chooses the kernel by the number of rows.
struct DefaultKernels {
  /// Sum of squares of one row, in eight independent chains of vectors: shortest for a row alone.
  void (*square_sum_1)(const float* x, int64_t width, float* sum);
  /// Sums of squares of four rows `width` apart, one chain of vectors each: fastest for many rows.
  void (*square_sum_4)(const float* x, int64_t width, float* sums);
  /// y = x · scale.
  void (*scale)(const float* x, float scale, int64_t n, float* y);
  /// In place on scores[width]: softmax(scores · scale) over the first `visible`, zeros after them.
  void (*softmax)(float* scores, int64_t visible, int64_t width, float scale);
};

}  // namespace detcheck::cpu
