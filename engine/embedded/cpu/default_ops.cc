#include <cstring>

#include "engine/embedded/cpu/cpu_ops.h"
#include "engine/embedded/cpu/default_attention.h"
#include "engine/embedded/cpu/default_blas.h"

namespace detcheck::cpu {
namespace {

constexpr int kManyRows = 8;  // From here on RMSNorm takes four rows at a time.

class RowMajorWeight : public CpuMatrix {
 public:
  RowMajorWeight(const HostTensor& w, const MathKernels& math)
      : num_rows_(w.rows),
        num_cols_(w.cols),
        buffer_(w.rows * w.cols * static_cast<int64_t>(sizeof(float))) {
    const int64_t n = w.rows * w.cols;
    switch (w.dtype) {
      case DType::kBf16:
        math.bf16_to_float(static_cast<const uint16_t*>(w.data), data(), n);
        break;
      case DType::kF16:
        math.f16_to_float(static_cast<const uint16_t*>(w.data), data(), n);
        break;
      case DType::kF32:
        std::memcpy(data(), w.data, static_cast<size_t>(n) * sizeof(float));
        break;
    }
  }

  int64_t num_rows() const override { return num_rows_; }
  int64_t num_cols() const override { return num_cols_; }
  void CopyRow(int64_t row, float* out) const override {
    std::memcpy(out, data() + row * num_cols_, static_cast<size_t>(num_cols_) * sizeof(float));
  }
  const float* data() const { return static_cast<const float*>(buffer_.data()); }

 private:
  float* data() { return static_cast<float*>(buffer_.data()); }

  int64_t num_rows_;
  int64_t num_cols_;
  Buffer buffer_;
};

class DefaultOps : public CpuOps {
 public:
  DefaultOps(const ModelConfig& config, const EngineOptions& options, int max_rows)
      : CpuOps(config, options, max_rows), attention_(config_, kernels_, rounding_, &pool_) {}

  Manifest Describe() const override {
    Manifest manifest = CpuOps::Describe();
    const auto add = [&](const char* name, const std::string& value) {
      manifest.push_back({name, value, FieldSource::kObserved});
    };
    add("kernels.mode", "default");
    add("kernels.gemm", "OpenBLAS: sgemv for one row, else sgemm");
    add("kernels.attention", "one token: keys split by occupancy; more: sgemm and whole softmax");
    add("kernels.bit_classes", "not fixed: kernels are chosen by shape");
    add("kernels.verified", "nothing: nothing is claimed");
    add("kernels.openblas_config", blas_.Config());
    add("kernels.openblas_core", blas_.Core());
    return manifest;
  }

  std::unique_ptr<Weight> NewMatrix(const HostTensor& w) override {
    return std::make_unique<RowMajorWeight>(w, kernels_.math);
  }

 protected:
  void Multiply(const float* x, int num_rows, const CpuMatrix& w, Rounding rounding,
                float* out) override {
    const float* weights = static_cast<const RowMajorWeight&>(w).data();
    const auto n = static_cast<int>(w.num_rows());
    const auto k = static_cast<int>(w.num_cols());
    blas_.TimesTransposed(num_rows, n, k, x, weights, out);
    if (rounding == Rounding::kNone) return;
    pool_.ParallelFor(num_rows,
                      [&](int64_t r) { RoundInPlace(kernels_.math, rounding, out + r * n, n); });
  }

  void NormRows(float* x, const float* delta, int num_rows, const float* gain,
                float* out) override {
    const int64_t width = config_.hidden_size;
    const int num_fours = num_rows < kManyRows ? 0 : num_rows / 4;
    pool_.ParallelFor(num_rows - 3 * num_fours, [&](int64_t task) {
      const bool four = task < num_fours;
      const int64_t offset = (four ? 4 * task : task + 3 * num_fours) * width;
      const auto norm = four ? kernels_.defaults.norm_4 : kernels_.defaults.norm_1;
      norm(x + offset, delta == nullptr ? nullptr : delta + offset, gain, config_.rms_norm_eps,
           width, rounding_, out + offset);
    });
  }

  void PlanAttention(const StepBatch& batch) override {
    blas_.SetNumThreads(pool_.num_threads());  // Another engine may have set its own.
    attention_.BeginStep(batch, step_keys_);
  }
  void Attend(int layer, const float* qkv, float* out) override {
    attention_.Run(&kv_cache_, layer, qkv, out);
  }

 private:
  const Blas& blas_ = Blas::Get();
  ShapedAttention attention_;
};

}  // namespace

std::unique_ptr<Ops> MakeDefaultOps(const ModelConfig& config, const EngineOptions& options,
                                    int max_rows) {
  return std::make_unique<DefaultOps>(config, options, max_rows);
}

}  // namespace detcheck::cpu
