#include "engine/embedded/cuda/cublaslt.h"

#include "engine/base/error.h"

namespace detcheck::cuda {

void CheckStatus(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string text(call);
  throw Error(ErrorCode::kDevice, "cuBLASLt: " + text.substr(0, text.find('(')) + ": " +
                                      cublasLtGetStatusString(status));
}

CublasLt::CublasLt() {
  DETCHECK_CUBLAS(cublasLtCreate(&handle_));
}

CublasLt::~CublasLt() {
  cublasLtDestroy(handle_);
}

std::string CublasLtVersion() {
  int major = 0;
  int minor = 0;
  int patch = 0;
  DETCHECK_CUBLAS(cublasLtGetProperty(MAJOR_VERSION, &major));
  DETCHECK_CUBLAS(cublasLtGetProperty(MINOR_VERSION, &minor));
  DETCHECK_CUBLAS(cublasLtGetProperty(PATCH_LEVEL, &patch));
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

std::string GemmName(const GemmShape& shape) {
  return "gemm " + std::to_string(shape.n) + "x" + std::to_string(shape.k) + " (N x K), " +
         (shape.output == GemmOutput::kBf16 ? "bf16" : "float32") + " output";
}

std::string GemmFieldName(const GemmShape& shape) {
  return "kernels.gemm." + std::to_string(shape.n) + "x" + std::to_string(shape.k) +
         (shape.output == GemmOutput::kBf16 ? "" : "_float32");
}

GemmProblem::GemmProblem(const GemmShape& shape, int m) {
  const cudaDataType_t out_type = shape.output == GemmOutput::kBf16 ? CUDA_R_16BF : CUDA_R_32F;
  const cublasOperation_t transposed = CUBLAS_OP_T;
  const cublasOperation_t plain = CUBLAS_OP_N;
  const auto n = static_cast<uint64_t>(shape.n);
  const auto k = static_cast<uint64_t>(shape.k);
  const auto cols = static_cast<uint64_t>(m);
  DETCHECK_CUBLAS(cublasLtMatmulDescInit(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  DETCHECK_CUBLAS(cublasLtMatmulDescSetAttribute(&operation_, CUBLASLT_MATMUL_DESC_TRANSA,
                                                 &transposed, sizeof(transposed)));
  DETCHECK_CUBLAS(cublasLtMatmulDescSetAttribute(&operation_, CUBLASLT_MATMUL_DESC_TRANSB, &plain,
                                                 sizeof(plain)));
  DETCHECK_CUBLAS(cublasLtMatrixLayoutInit(&w_, CUDA_R_16BF, k, n, shape.k));
  DETCHECK_CUBLAS(cublasLtMatrixLayoutInit(&x_, CUDA_R_16BF, k, cols, shape.k));
  DETCHECK_CUBLAS(cublasLtMatrixLayoutInit(&out_, out_type, n, cols, shape.n));
}

std::vector<cublasLtMatmulAlgo_t> GemmProblem::Heuristics(const CublasLt& cublas,
                                                          size_t max_workspace_bytes,
                                                          int max_results) {
  cublasLtMatmulPreferenceOpaque_t preference;
  DETCHECK_CUBLAS(cublasLtMatmulPreferenceInit(&preference));
  DETCHECK_CUBLAS(
      cublasLtMatmulPreferenceSetAttribute(&preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                           &max_workspace_bytes, sizeof(max_workspace_bytes)));
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<size_t>(max_results));
  int num_results = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(cublas.get(), &operation_, &w_, &x_, &out_, &out_, &preference,
                                     max_results, results.data(), &num_results);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  CheckStatus(status, "cublasLtMatmulAlgoGetHeuristic");
  std::vector<cublasLtMatmulAlgo_t> algos;
  for (int i = 0; i < num_results; ++i) {
    const cublasLtMatmulHeuristicResult_t& result = results[static_cast<size_t>(i)];
    if (result.state == CUBLAS_STATUS_SUCCESS) algos.push_back(result.algo);
  }
  return algos;
}

std::optional<size_t> GemmProblem::WorkspaceBytes(const CublasLt& cublas,
                                                  const cublasLtMatmulAlgo_t& algo) {
  cublasLtMatmulHeuristicResult_t result{};
  const cublasStatus_t status =
      cublasLtMatmulAlgoCheck(cublas.get(), &operation_, &w_, &x_, &out_, &out_, &algo, &result);
  if (status != CUBLAS_STATUS_SUCCESS) return std::nullopt;
  return result.workspaceSize;
}

cublasStatus_t GemmProblem::Launch(const CublasLt& cublas, const cublasLtMatmulAlgo_t& algo,
                                   const __nv_bfloat16* x, const __nv_bfloat16* w, void* out,
                                   void* workspace, size_t workspace_bytes, cudaStream_t stream) {
  const float one = 1;
  const float zero = 0;
  return cublasLtMatmul(cublas.get(), &operation_, &one, w, &w_, x, &x_, &zero, out, &out_, out,
                        &out_, &algo, workspace, workspace_bytes, stream);
}

}  // namespace detcheck::cuda
