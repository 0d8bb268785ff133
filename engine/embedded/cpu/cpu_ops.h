#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/embedded/cpu/attention.h"
#include "engine/embedded/cpu/buffer.h"
#include "engine/embedded/cpu/dispatch.h"
#include "engine/embedded/cpu/rounding.h"
#include "engine/embedded/cpu/thread_pool.h"
#include "engine/embedded/ops.h"

namespace detcheck::cpu {

/// float32 [max_rows, width], row major without gaps; the values are values of the model dtype.
class CpuActivations : public Activations {
 public:
  CpuActivations(int max_rows, int width)
      : max_rows_(max_rows),
        width_(width),
        buffer_(int64_t{max_rows} * width * static_cast<int64_t>(sizeof(float))) {}

  int width() const { return width_; }
  /// Rows in use: set by the operation that writes them. Throws Error(kInternal) above max_rows.
  int num_rows() const { return num_rows_; }
  void set_num_rows(int num_rows);

  float* data() { return static_cast<float*>(buffer_.data()); }
  const float* data() const { return static_cast<const float*>(buffer_.data()); }
  float* row(int64_t r) { return data() + r * width_; }
  const float* row(int64_t r) const { return data() + r * width_; }

 private:
  int max_rows_;
  int width_;
  int num_rows_ = 0;
  Buffer buffer_;
};

/// A vector in float32.
class CpuVector : public Weight {
 public:
  explicit CpuVector(std::vector<float> values) : values_(std::move(values)) {}
  const float* data() const { return values_.data(); }

 private:
  std::vector<float> values_;
};

/// A matrix W[N, K], held as its mode likes it.
class CpuMatrix : public Weight {
 public:
  virtual int64_t num_rows() const = 0;                     ///< N
  virtual int64_t num_cols() const = 0;                     ///< K
  virtual void CopyRow(int64_t row, float* out) const = 0;  ///< Row `row` to out[K].
};

/// What both modes share: memory, the step, the KV cache, element-wise operations, sampling. A mode
/// adds its matrices, their product, RMSNorm and attention.
class CpuOps : public Ops {
 public:
  Manifest Describe() const override;
  std::unique_ptr<Weight> NewVector(const HostTensor& w) override;
  std::unique_ptr<Activations> NewActivations(int max_rows, int width) override;
  void AllocateKvCache(int num_slots) override;
  void BeginStep(const StepBatch& batch) override;
  void Embed(const Weight& table, Activations* out) override;
  void AddRmsNorm(Activations* residual, const Activations* delta, const Weight& gain,
                  Activations* out) override;
  void Linear(const Activations& x, const Weight& w, Activations* out) override;
  void RopeAndWriteKv(int layer, const Weight* q_gain, const Weight* k_gain,
                      Activations* qkv) override;
  void Attention(int layer, const Activations& qkv, Activations* out) override;
  void GateUp(const Activations& x, const Weight& gate_up, Activations* out) override;
  void SelectLogitRows(const Activations& residual, const Activations& delta,
                       Activations* out) override;
  void Logits(const Activations& x, const Weight& lm_head) override;
  std::vector<SampledToken> Sample(std::span<const RowSampling> rows) override;
  std::vector<TokenLogprob> Score(std::span<const TokenId> targets, int num_top) override;
  std::vector<std::string> LogitDigests() override;

 protected:
  CpuOps(const ModelConfig& config, const EngineOptions& options, int max_rows);

  /// out[num_rows, N] = round(x[num_rows, K] · wᵀ).
  virtual void Multiply(const float* x, int num_rows, const CpuMatrix& w, Rounding rounding,
                        float* out) = 0;
  /// x[num_rows, D] = round(x + delta) where delta is not null; out = round(round(x / rms) · gain).
  virtual void NormRows(float* x, const float* delta, int num_rows, const float* gain,
                        float* out) = 0;
  /// Attention of the current step's rows.
  virtual void Attend(int layer, const float* qkv, float* out) = 0;
  /// Called once the step's keys are known.
  virtual void PlanAttention(const StepBatch& batch) = 0;

  const ModelConfig config_;
  const SimdLevel level_;
  const KernelTable& kernels_;
  const Rounding rounding_;
  ThreadPool pool_;
  KvCache kv_cache_;
  StepKeys step_keys_;

 private:
  /// Normalises and rotates the heads of one row, and writes its key and value.
  void RotateAndWrite(int layer, int row, const float* q_gain, const float* k_gain, float* qkv);
  const float* LogitRowAt(size_t i) const;

  const StepBatch* batch_ = nullptr;
  const std::vector<double> rope_frequencies_;
  std::vector<float> rope_cos_;  ///< [T, E / 2] of the step's rows, as is rope_sin_.
  std::vector<float> rope_sin_;
  Buffer gate_up_;  ///< [rows, 2F]
  Buffer logits_;   ///< [R, V]
  int num_logit_rows_ = 0;
};

/// Matrices in packed panels, every operation with fixed bits.
std::unique_ptr<Ops> MakeDeterministicOps(const ModelConfig& config, const EngineOptions& options,
                                          int max_rows);

/// Matrices row major, every operation chosen by shape; products by OpenBLAS, whose number of
/// threads, one per process, is set to this engine's.
std::unique_ptr<Ops> MakeDefaultOps(const ModelConfig& config, const EngineOptions& options,
                                    int max_rows);

}  // namespace detcheck::cpu
