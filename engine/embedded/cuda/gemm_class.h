#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/embedded/cuda/cublaslt.h"
#include "engine/embedded/cuda/gemm_trial.h"

namespace detcheck::cuda {

/// The configuration for M from one above the bucket before up to `max_m`.
struct GemmBucket {
  int max_m = 0;
  cublasLtMatmulAlgo_t algo;
};

/// Configurations of one shape whose rows have the same bits: those of one class, which sum all of
/// K in one piece.
struct GemmClass {
  cublasLtMatmulAlgo_t reference;   ///< For float32 output, at M = 1: its bits are the class.
  std::vector<GemmBucket> buckets;  ///< Ascending; the last one is that of the largest M.

  const GemmBucket& BucketOf(int m) const;
};

/// What was compared, bit by bit, with rows computed alone.
struct GemmVerification {
  int64_t num_rows = 0;        ///< Rows of products, of shape.n elements each.
  int num_configurations = 0;  ///< Different ones in use.
  int num_float32 = 0;         ///< Those of them also compared with float32 output.
};

/// Largest M of each bucket for M up to `max_m`: the powers of two below it, then itself.
std::vector<int> GemmBucketEdges(int max_m);

/// Finds the class of the trial's shape and, for each bucket, its fastest configuration that keeps
/// the bits; all are verified. Takes seconds for large shapes. Throws Error(kUnsupported), naming
/// shape and fact, where there is no class or a bucket has no such configuration.
GemmClass ChooseGemmClass(const CublasLt& cublas, int max_m, GemmTrial* trial,
                          GemmVerification* verification);

/// Verifies a class that was chosen before: every bucket at its smallest M, its largest M and one
/// between, with the shape's output type and, where the library has the same configuration for it,
/// with float32. Nothing where one element of one row differs from what its row gives alone.
std::optional<GemmVerification> VerifyGemmClass(const CublasLt& cublas, const GemmClass& choice,
                                                GemmTrial* trial);

}  // namespace detcheck::cuda
