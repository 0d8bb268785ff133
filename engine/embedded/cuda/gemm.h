#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <memory>

#include "engine/backend.h"

namespace detcheck::cuda {

enum class GemmOutput { kBf16, kFloat32 };

/// A product that the model makes: out[M, N] = x[M, K] · w[N, K]ᵀ for any M.
struct GemmShape {
  int64_t n = 0;
  int64_t k = 0;
  GemmOutput output = GemmOutput::kBf16;

  auto operator<=>(const GemmShape&) const = default;
};

/// Matrix products by cuBLASLt with float32 accumulation; bf16 in, bf16 or float32 out.
class Gemm {
 public:
  virtual ~Gemm() = default;

  /// Gets `shape` ready for M up to `max_m`; once, before its first Run. Deterministic: chooses and
  /// verifies its bit class on this device, and throws Error(kUnsupported), naming shape and fact,
  /// where it does not hold.
  virtual void Prepare(const GemmShape& shape, int max_m) = 0;

  /// Queues one product; allocates nothing. `shape` was prepared and m is at most its max_m.
  virtual void Run(const GemmShape& shape, int m, const __nv_bfloat16* x, const __nv_bfloat16* w,
                   void* out, cudaStream_t stream) = 0;

  /// The library's version and, per shape, its class and how it was verified: under "kernels.".
  virtual Manifest Describe() const = 0;
};

/// Deterministic: the bits of a row of `out` depend on that row of x and on w alone, because all
/// products of one shape are made by configurations of one bit class (no split of K), chosen for
/// speed per range of M. Else the library's first heuristic for each M.
std::unique_ptr<Gemm> MakeGemm(bool deterministic);

}  // namespace detcheck::cuda
