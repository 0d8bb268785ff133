#pragma once

#include <span>
#include <vector>

#include "engine/embedded/cuda/gemm_trial.h"

namespace detcheck::cuda {

/// Those of `candidates` that can do `m` rows, fastest first, as they are timed on the device.
std::vector<size_t> RankBySpeed(GemmTrial* trial, std::span<const cublasLtMatmulAlgo_t> candidates,
                                int m);

}  // namespace detcheck::cuda
