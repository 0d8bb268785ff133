#pragma once

#include <cstdint>
#include <vector>

#include "engine/embedded/cpu/math_kernels.h"
#include "engine/embedded/cpu/rounding.h"
#include "engine/embedded/model_config.h"

namespace detcheck::cpu {

/// Element-wise and row operations in plain code. Arrays have `n` elements.
class RowOps {
 public:
  RowOps(const ModelConfig& config, const MathKernels& math, Rounding rounding);

  void Add(const float* a, const float* b, int64_t n, float* out) const;
  void RmsNorm(const float* x, const float* gain, int64_t n, float eps, float* out) const;
  void ScaleGain(const float* x, float scale, const float* gain, int64_t n, float* out) const;
  void SiluMul(const float* gate, const float* up, int64_t n, float* out) const;
  void Rope(int position, int64_t head_dim, float* x) const;

 private:
  void Round(float* x, int64_t n) const;

  const MathKernels& math_;
  Rounding rounding_;
  std::vector<double> frequencies_;
};

}  // namespace detcheck::cpu
