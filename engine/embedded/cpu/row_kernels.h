#pragma once

#include <cstdint>

#include "engine/embedded/cpu/rounding.h"

namespace detcheck::cpu {

/// A token and its logit.
struct Candidate {
  int32_t id;
  float logit;
};

/// Row operations of one SIMD level. A row has `n` float32 values and is worked on alone, whole.
/// Order, for every sum over a row: lane j of 16 takes elements j, j + 16, … in ascending order,
/// from +0; then lanes j and j + 8 are added, j and j + 4, + 2, + 1. So the bits depend on the row
/// and its length: not on other rows, threads or the SIMD level. `round` below is to the model's
/// dtype, given by `rounding`. Outputs may be inputs.
struct RowKernels {
  /// out = round(round(x / sqrt(mean(x^2) + eps)) * weight), as Hugging Face does it.
  void (*rms_norm)(const float* x, const float* weight, float eps, int64_t n, Rounding rounding,
                   float* out);
  /// residual = round(residual + delta), then out = rms_norm(residual).
  void (*add_rms_norm)(float* residual, const float* delta, const float* weight, float eps,
                       int64_t n, Rounding rounding, float* out);
  /// out = round(a + b).
  void (*add)(const float* a, const float* b, int64_t n, Rounding rounding, float* out);
  /// Rotates pairs (i, i + n / 2) of a head of `n` values, n even ("rotate_half"):
  /// head[i] = round(head[i] cos[i] - head[i + n/2] sin[i]) and
  /// head[i + n/2] = round(head[i + n/2] cos[i] + head[i] sin[i]); the second product is rounded to
  /// float32, the first is fused. `cos` and `sin` have n / 2 values.
  void (*rope)(float* head, const float* cos, const float* sin, int64_t n, Rounding rounding);
  /// out = round(round(gate / (1 + e^-gate)) * up).
  void (*silu_mul)(const float* gate, const float* up, int64_t n, Rounding rounding, float* out);
  /// log(sum of e^x), by way of the maximum. NaN where there is one; else the maximum where that is
  /// not finite.
  float (*log_sum_exp)(const float* x, int64_t n);
  /// Index of the largest value, the lowest index among equals; NaN counts below everything; 0
  /// where nothing is above -infinity.
  int32_t (*argmax)(const float* x, int64_t n);
  /// The k largest, in descending order, equals by ascending index; k is 1..64. Fewer where the row
  /// is shorter, NaN left out; returns how many.
  int (*top_k)(const float* x, int64_t n, int k, Candidate* out);
};

}  // namespace detcheck::cpu
