#pragma once

#include <cstdint>

namespace detcheck::cpu {

/// Element-wise kernels of one SIMD level. Arrays have `n` elements; `y` may be `x` where the types
/// agree. Order: element-wise, so there is none to fix.
struct MathKernels {
  void (*exp)(const float* x, float* y, int64_t n);
  void (*log)(const float* x, float* y, int64_t n);
  /// y = a * b + c with one rounding: what every other kernel stands on, here for self-checks.
  void (*fma)(const float* a, const float* b, const float* c, float* y, int64_t n);
  /// To the nearest value of the format, ties to even, kept as float32. NaN stays NaN.
  void (*round_bf16)(const float* x, float* y, int64_t n);
  void (*round_f16)(const float* x, float* y, int64_t n);
  /// The same rounding, to the 16 bits of the format; and exactly back.
  void (*float_to_bf16)(const float* x, uint16_t* y, int64_t n);
  void (*float_to_f16)(const float* x, uint16_t* y, int64_t n);
  void (*bf16_to_float)(const uint16_t* x, float* y, int64_t n);
  void (*f16_to_float)(const uint16_t* x, float* y, int64_t n);
};

}  // namespace detcheck::cpu
