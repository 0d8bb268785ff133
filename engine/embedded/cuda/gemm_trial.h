#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/embedded/cuda/cublaslt.h"
#include "engine/embedded/cuda/device_memory.h"
#include "engine/embedded/cuda/gemm_trial_kernels.h"

namespace detcheck::cuda {

/// Random data on the device on which configurations of one shape are tried, for M up to `max_m`.
/// Rows of x repeat kNumProbes rows, so that each of them is at many positions of a product, and
/// every row of every product can be compared with the product of that row alone (M = 1).
class GemmTrial {
 public:
  static constexpr int kNumProbes = 13;  ///< Odd: no tile's rows begin with the same one.

  /// All work goes to `stream`. `cublas` must outlive the trial.
  GemmTrial(const CublasLt& cublas, const GemmShape& shape, int max_m, cudaStream_t stream);

  const GemmShape& shape() const { return shape_; }
  cudaStream_t stream() const { return stream_; }

  /// One product to be tried: `algo` is for this output type, which need not be the shape's.
  struct Product {
    cublasLtMatmulAlgo_t algo;
    GemmOutput output = GemmOutput::kBf16;
    int m = 0;
  };

  /// Whether the library can do it.
  bool Usable(const Product& product) const;

  /// Queues one product of `m` rows with the next copy of w; there are so many copies that none is
  /// still in the L2 cache when its turn comes again. False where the library refuses.
  bool Launch(const cublasLtMatmulAlgo_t& algo, int m);

  /// Computes the products of the probe rows with `algo` (for float32 output) at M = 1: what all
  /// others are compared with. False, and no reference is set, where it cannot do that.
  bool SetReference(const cublasLtMatmulAlgo_t& algo);

  /// Makes each product and counts the elements, of all its rows, whose bits differ from the
  /// reference rounded to the output type; kRefused where the library refuses. Waits.
  static constexpr uint32_t kRefused = 0xffffffff;
  std::vector<uint32_t> CountDifferences(std::span<const Product> products);

 private:
  GemmShape ShapeWith(GemmOutput output) const { return {shape_.n, shape_.k, output}; }
  bool LaunchOn(const Product& product, const __nv_bfloat16* x, const __nv_bfloat16* w, void* out);

  const CublasLt& cublas_;
  GemmShape shape_;
  cudaStream_t stream_;
  int64_t w_stride_;  ///< Elements from one copy of w to the next.
  int num_copies_;
  int next_copy_ = 0;
  DeviceBuffer workspace_;
  DeviceBuffer w_;
  DeviceBuffer probes_;     ///< [kNumProbes][K padded]
  DeviceBuffer x_;          ///< [max_m][K]
  DeviceBuffer out_;        ///< [max_m][N] of float32
  DeviceBuffer reference_;  ///< [kNumProbes][N padded] of float32
};

}  // namespace detcheck::cuda
