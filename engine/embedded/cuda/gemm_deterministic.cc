#include "engine/embedded/cuda/gemm_deterministic.h"

#include <algorithm>
#include <map>
#include <string>

#include "engine/embedded/cuda/cublaslt.h"
#include "engine/embedded/cuda/gemm_class.h"
#include "engine/embedded/cuda/gemm_class_cache.h"

namespace detcheck::cuda {
namespace {

// Most bytes of the float32 output of one call; larger products are made in slices of rows, so that
// all that runs can be verified in memory that there is.
constexpr int64_t kMaxOutputBytes = int64_t{1} << 30;

// The largest M of one call: max_m, or a power of two where that would be too large.
int MaxRowsOfCall(const GemmShape& shape, int max_m) {
  const int64_t fitting = kMaxOutputBytes / (shape.n * static_cast<int64_t>(sizeof(float)));
  if (max_m <= fitting) return max_m;
  int rows = 1;
  while (2 * rows <= fitting) rows *= 2;
  return rows;
}

class DeterministicGemm : public Gemm {
 public:
  DeterministicGemm() : workspace_(kGemmWorkspaceBytes) {}

  void Prepare(const GemmShape& shape, int max_m) override {
    const Stream stream;
    Prepared prepared;
    prepared.max_rows = MaxRowsOfCall(shape, max_m);
    GemmTrial trial(cublas_, shape, prepared.max_rows, stream.get());
    const GemmClassKey key = MakeGemmClassKey(shape, prepared.max_rows);
    if (const std::optional<GemmClass> kept = LoadGemmClass(key)) {
      if (const std::optional<GemmVerification> held = VerifyGemmClass(cublas_, *kept, &trial)) {
        prepared.choice = *kept;
        prepared.verification = *held;
        shapes_[shape] = std::move(prepared);
        return;
      }
    }
    prepared.choice = ChooseGemmClass(cublas_, prepared.max_rows, &trial, &prepared.verification);
    StoreGemmClass(key, prepared.choice);
    shapes_[shape] = std::move(prepared);
  }

  void Run(const GemmShape& shape, int m, const __nv_bfloat16* x, const __nv_bfloat16* w, void* out,
           cudaStream_t stream) override {
    const Prepared& prepared = shapes_.at(shape);
    const size_t row_bytes = static_cast<size_t>(shape.n) * ElementBytes(shape.output);
    for (int row = 0; row < m; row += prepared.max_rows) {
      const int num_rows = std::min(m - row, prepared.max_rows);
      GemmProblem problem(shape, num_rows);
      void* slice = static_cast<std::byte*>(out) + static_cast<size_t>(row) * row_bytes;
      CheckStatus(
          problem.Launch(cublas_, prepared.choice.BucketOf(num_rows).algo, x + row * shape.k, w,
                         slice, workspace_.as<void>(), kGemmWorkspaceBytes, stream),
          "cublasLtMatmul");
    }
  }

  Manifest Describe() const override {
    Manifest manifest = {{"kernels.cublaslt_version", CublasLtVersion(), FieldSource::kObserved}};
    for (const auto& [shape, prepared] : shapes_) {
      manifest.push_back({GemmFieldName(shape), prepared.Text(), FieldSource::kObserved});
    }
    return manifest;
  }

 private:
  struct Prepared {
    int max_rows = 0;
    GemmClass choice;
    GemmVerification verification;

    std::string Text() const {
      return "split-K 1, " + std::to_string(verification.num_configurations) + " configurations (" +
             std::to_string(verification.num_float32) + " also with float32 output) in " +
             std::to_string(choice.buckets.size()) + " buckets to M = " + std::to_string(max_rows) +
             ", " + std::to_string(verification.num_rows) + " rows verified";
    }
  };

  CublasLt cublas_;
  DeviceBuffer workspace_;
  std::map<GemmShape, Prepared> shapes_;
};

}  // namespace

std::unique_ptr<Gemm> MakeDeterministicGemm() {
  return std::make_unique<DeterministicGemm>();
}

}  // namespace detcheck::cuda
