#pragma once

#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/embedded/cuda/gemm.h"

namespace detcheck::cuda {

/// Throws Error(kDevice) that names `call` and what the library says of `status`, unless it is
/// CUBLAS_STATUS_SUCCESS.
void CheckStatus(cublasStatus_t status, const char* call);

/// Workspace that every product may use, in both modes.
inline constexpr size_t kGemmWorkspaceBytes = size_t{64} << 20;

/// A handle of cuBLASLt of its own, for the current device. It is made once and shared by all
/// problems of one object; it owns no stream.
class CublasLt {
 public:
  CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;
  ~CublasLt();

  cublasLtHandle_t get() const { return handle_; }

 private:
  cublasLtHandle_t handle_ = nullptr;
};

/// The library's version as text, e.g. "13.0.2".
std::string CublasLtVersion();

/// A shape as messages name it, e.g. "gemm 4096x12288 (N x K), bf16 output".
std::string GemmName(const GemmShape& shape);

/// A shape's manifest field, e.g. "kernels.gemm.4096x12288"; float32 output ends in "_float32".
std::string GemmFieldName(const GemmShape& shape);

/// Bytes of one element of the output.
inline size_t ElementBytes(GemmOutput output) {
  return output == GemmOutput::kBf16 ? sizeof(__nv_bfloat16) : sizeof(float);
}

/// One product of a shape and an M in the library's terms. It is column-major there: A is w with op
/// T, B is x, C and D are the transposed output. Holds no memory but its own; cheap to make.
class GemmProblem {
 public:
  GemmProblem(const GemmShape& shape, int m);
  GemmProblem(const GemmProblem&) = delete;
  GemmProblem& operator=(const GemmProblem&) = delete;

  /// At most `max_results` configurations, the one that the library thinks fastest first, that use
  /// at most `max_workspace_bytes`. Empty where it has none.
  std::vector<cublasLtMatmulAlgo_t> Heuristics(const CublasLt& cublas, size_t max_workspace_bytes,
                                               int max_results);

  /// Bytes of workspace that `algo` needs for this problem; nothing where it cannot do it.
  std::optional<size_t> WorkspaceBytes(const CublasLt& cublas, const cublasLtMatmulAlgo_t& algo);

  /// Queues out = x · wᵀ. The status tells whether the library took it.
  cublasStatus_t Launch(const CublasLt& cublas, const cublasLtMatmulAlgo_t& algo,
                        const __nv_bfloat16* x, const __nv_bfloat16* w, void* out, void* workspace,
                        size_t workspace_bytes, cudaStream_t stream);

 private:
  cublasLtMatmulDescOpaque_t operation_;
  cublasLtMatrixLayoutOpaque_t w_;
  cublasLtMatrixLayoutOpaque_t x_;
  cublasLtMatrixLayoutOpaque_t out_;
};

}  // namespace detcheck::cuda

/// Every call of cuBLASLt whose failure is an error goes through this.
#define DETCHECK_CUBLAS(call) ::detcheck::cuda::CheckStatus((call), #call)
