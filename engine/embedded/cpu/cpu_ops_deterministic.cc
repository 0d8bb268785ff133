#include "engine/embedded/cpu/cpu_ops.h"
#include "engine/embedded/cpu/cpu_ops_verify.h"
#include "engine/embedded/cpu/gemm.h"

namespace detcheck::cpu {
namespace {

// Packed panels of bf16 where the weights are bf16, half the memory to read; else of float32. The
// format never changes bits.
class PackedWeight : public CpuMatrix {
 public:
  PackedWeight(const HostTensor& w, ThreadPool* pool)
      : matrix_(w.rows, w.cols,
                w.dtype == DType::kBf16 ? WeightFormat::kBf16 : WeightFormat::kFloat32) {
    switch (w.dtype) {
      case DType::kBf16:
        matrix_.SetRowsBf16(*pool, 0, w.rows, static_cast<const uint16_t*>(w.data));
        break;
      case DType::kF16:
        matrix_.SetRowsF16(*pool, 0, w.rows, static_cast<const uint16_t*>(w.data));
        break;
      case DType::kF32:
        matrix_.SetRowsFloat(*pool, 0, w.rows, static_cast<const float*>(w.data));
        break;
    }
  }

  int64_t num_rows() const override { return matrix_.num_rows(); }
  int64_t num_cols() const override { return matrix_.num_cols(); }
  void CopyRow(int64_t row, float* out) const override { matrix_.CopyRow(row, out); }
  const PackedMatrix& matrix() const { return matrix_; }

 private:
  PackedMatrix matrix_;
};

class DeterministicOps : public CpuOps {
 public:
  DeterministicOps(const ModelConfig& config, const EngineOptions& options, int max_rows)
      : CpuOps(config, options, max_rows), attention_(config_, kernels_, rounding_, &pool_) {
    VerifyDeterminism(config_, kernels_, rounding_, &pool_);
  }

  Manifest Describe() const override {
    Manifest manifest = CpuOps::Describe();
    const auto add = [&](const char* name, const std::string& value) {
      manifest.push_back({name, value, FieldSource::kObserved});
    };
    add("kernels.mode", "deterministic");
    add("kernels.gemm", "packed panels, one FMA chain over k per element");
    add("kernels.attention",
        "key block " + std::to_string(kKeyBlock) + ", split " + std::to_string(kKeySplit));
    add("kernels.bit_classes", "one for all rows, shapes, SIMD levels and threads");
    add("kernels.verified", "at start: matrix products over rows, attention over chunks");
    add("kernels.openblas_config", "not used");
    add("kernels.openblas_core", "not used");
    return manifest;
  }

  std::unique_ptr<Weight> NewMatrix(const HostTensor& w) override {
    return std::make_unique<PackedWeight>(w, &pool_);
  }

 protected:
  void Multiply(const float* x, int num_rows, const CpuMatrix& w, Rounding rounding,
                float* out) override {
    Gemm(kernels_, pool_, x, num_rows, static_cast<const PackedWeight&>(w).matrix(), rounding, out,
         workspace_);
  }

  void NormRows(float* x, const float* delta, int num_rows, const float* gain,
                float* out) override {
    const int64_t width = config_.hidden_size;
    pool_.ParallelFor(num_rows, [&](int64_t r) {
      float* row = x + r * width;
      float* y = out + r * width;
      if (delta == nullptr) {
        kernels_.row.rms_norm(row, gain, config_.rms_norm_eps, width, rounding_, y);
      } else {
        kernels_.row.add_rms_norm(row, delta + r * width, gain, config_.rms_norm_eps, width,
                                  rounding_, y);
      }
    });
  }

  void PlanAttention(const StepBatch& batch) override { attention_.BeginStep(batch, step_keys_); }
  void Attend(int layer, const float* qkv, float* out) override {
    attention_.Run(&kv_cache_, layer, qkv, out);
  }

 private:
  SplitAttention attention_;
  GemmWorkspace workspace_;
};

}  // namespace

std::unique_ptr<Ops> MakeDeterministicOps(const ModelConfig& config, const EngineOptions& options,
                                          int max_rows) {
  return std::make_unique<DeterministicOps>(config, options, max_rows);
}

}  // namespace detcheck::cpu
