#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/embedded/cuda/cublaslt.h"

namespace detcheck::cuda {

/// Whether `algo` sums all of K in one piece: one split and no reduction of partial sums.
bool IsUnsplit(const cublasLtMatmulAlgo_t& algo);

/// All configurations that the library's heuristics name for `shape` at any M of `ms`, each with
/// its split of K taken away; without duplicates. Which of them can do a given M is not looked at.
std::vector<cublasLtMatmulAlgo_t> UnsplitCandidates(const CublasLt& cublas, const GemmShape& shape,
                                                    std::span<const int> ms);

/// Index in `candidates` of what the library thinks fastest for `m` rows, its split of K taken
/// away; candidates.size() where it is not there.
size_t FirstHeuristic(const CublasLt& cublas, const GemmShape& shape, int m,
                      std::span<const cublasLtMatmulAlgo_t> candidates);

/// The configuration with float32 output whose tile, stages and all the rest equal those of `algo`,
/// which has bf16 output; nothing where the library has none.
std::optional<cublasLtMatmulAlgo_t> Float32Twin(const CublasLt& cublas,
                                                const cublasLtMatmulAlgo_t& algo);

}  // namespace detcheck::cuda
