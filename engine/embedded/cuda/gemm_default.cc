#include "engine/embedded/cuda/gemm_default.h"

#include <map>
#include <string>
#include <unordered_map>

#include "engine/base/error.h"
#include "engine/embedded/cuda/cublaslt.h"
#include "engine/embedded/cuda/device_memory.h"

namespace detcheck::cuda {
namespace {

/// A problem and the configuration that the library chose for it.
struct Plan {
  Plan(const CublasLt& cublas, const GemmShape& shape, int m) : problem(shape, m) {
    const std::vector<cublasLtMatmulAlgo_t> algos =
        problem.Heuristics(cublas, kGemmWorkspaceBytes, 1);
    if (algos.empty()) {
      throw Error(ErrorCode::kUnsupported,
                  GemmName(shape) + ": cuBLASLt has no configuration for M = " + std::to_string(m));
    }
    algo = algos.front();
  }

  GemmProblem problem;
  cublasLtMatmulAlgo_t algo;
};

class DefaultGemm : public Gemm {
 public:
  DefaultGemm() : workspace_(kGemmWorkspaceBytes) {}

  void Prepare(const GemmShape& shape, int max_m) override {
    PlanFor(shape, 1);
    PlanFor(shape, max_m);
  }

  void Run(const GemmShape& shape, int m, const __nv_bfloat16* x, const __nv_bfloat16* w, void* out,
           cudaStream_t stream) override {
    Plan& plan = PlanFor(shape, m);
    CheckStatus(plan.problem.Launch(cublas_, plan.algo, x, w, out, workspace_.as<void>(),
                                    kGemmWorkspaceBytes, stream),
                "cublasLtMatmul");
  }

  Manifest Describe() const override {
    Manifest manifest = {{"kernels.cublaslt_version", CublasLtVersion(), FieldSource::kObserved}};
    for (const auto& [shape, plans] : plans_) {
      manifest.push_back({GemmFieldName(shape), "the library's first heuristic for each M",
                          FieldSource::kObserved});
    }
    return manifest;
  }

 private:
  Plan& PlanFor(const GemmShape& shape, int m) {
    return plans_[shape].try_emplace(m, cublas_, shape, m).first->second;
  }

  CublasLt cublas_;
  DeviceBuffer workspace_;
  std::map<GemmShape, std::unordered_map<int, Plan>> plans_;
};

}  // namespace

std::unique_ptr<Gemm> MakeDefaultGemm() {
  return std::make_unique<DefaultGemm>();
}

}  // namespace detcheck::cuda
