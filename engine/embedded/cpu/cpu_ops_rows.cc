#include "engine/embedded/cpu/cpu_ops_rows.h"

#include <cmath>

namespace detcheck::cpu {

RowOps::RowOps(const ModelConfig& config, const MathKernels& math, Rounding rounding)
    : math_(math), rounding_(rounding) {
  for (int i = 0; i < config.head_dim / 2; ++i) {
    double f = std::pow(config.rope_theta, -2.0 * i / config.head_dim);
    if (config.rope_scaling) {
      const Llama3RopeScaling& s = *config.rope_scaling;
      const double original = s.original_max_position_embeddings;
      const double wave = 2.0 * 3.14159265358979323846 / f;
      if (wave > original / s.low_freq_factor) {
        f /= s.factor;
      } else if (wave > original / s.high_freq_factor) {
        const double smooth =
            (original / wave - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
        f = (1.0 - smooth) * f / s.factor + smooth * f;
      }
    }
    frequencies_.push_back(f);
  }
}

void RowOps::Round(float* x, int64_t n) const {
  if (rounding_ == Rounding::kBf16) math_.round_bf16(x, x, n);
  if (rounding_ == Rounding::kF16) math_.round_f16(x, x, n);
}

void RowOps::Add(const float* a, const float* b, int64_t n, float* out) const {
  for (int64_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
  Round(out, n);
}

void RowOps::RmsNorm(const float* x, const float* gain, int64_t n, float eps, float* out) const {
  float lanes[16] = {};
  for (int64_t i = 0; i < n; ++i) lanes[i % 16] += x[i] * x[i];
  for (int half = 8; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) lanes[j] += lanes[j + half];
  }
  ScaleGain(x, 1.0f / std::sqrt(lanes[0] / static_cast<float>(n) + eps), gain, n, out);
}

void RowOps::ScaleGain(const float* x, float scale, const float* gain, int64_t n,
                       float* out) const {
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * scale;
  Round(out, n);
  for (int64_t i = 0; i < n; ++i) out[i] *= gain[i];
  Round(out, n);
}

void RowOps::SiluMul(const float* gate, const float* up, int64_t n, float* out) const {
  for (int64_t i = 0; i < n; ++i) out[i] = -gate[i];
  math_.exp(out, out, n);
  for (int64_t i = 0; i < n; ++i) out[i] = gate[i] / (1.0f + out[i]);
  Round(out, n);
  for (int64_t i = 0; i < n; ++i) out[i] *= up[i];
  Round(out, n);
}

void RowOps::Rope(int position, int64_t head_dim, float* x) const {
  const int64_t half = head_dim / 2;
  for (int64_t i = 0; i < half; ++i) {
    const double angle = position * frequencies_[static_cast<size_t>(i)];
    const auto c = static_cast<float>(std::cos(angle));
    const auto s = static_cast<float>(std::sin(angle));
    const float a = x[i];
    const float b = x[i + half];
    x[i] = a * c - b * s;
    x[i + half] = b * c + a * s;
  }
  Round(x, head_dim);
}

}  // namespace detcheck::cpu
