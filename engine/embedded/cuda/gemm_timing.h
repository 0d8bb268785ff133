#pragma once

#include <span>
#include <vector>

#include "engine/embedded/cuda/gemm_trial.h"

namespace detcheck::cuda {

/// Those of `candidates` that can do `m` rows, fastest first, as they are timed on the device. The
/// candidate `favourite` (an index; candidates.size(): none) is put before those that are faster by
/// less than timing can be trusted for.
std::vector<size_t> RankBySpeed(GemmTrial* trial, std::span<const cublasLtMatmulAlgo_t> candidates,
                                int m, size_t favourite);

}  // namespace detcheck::cuda
