#include "engine/embedded/cuda/gemm_candidates.h"

#include <algorithm>
#include <set>

namespace detcheck::cuda {
namespace {

constexpr int kMaxResults = 100;

/// What tells one configuration from another, in the library's own numbers.
struct AlgoConfig {
  int32_t id = 0;
  uint32_t tile = 0;
  uint32_t stages = 0;
  int32_t num_splits = 1;
  uint32_t reduction = CUBLASLT_REDUCTION_SCHEME_NONE;
  uint32_t swizzling = 0;
  uint32_t custom = 0;
  uint16_t inner_shape = 0;
  uint16_t cluster_shape = 0;

  auto operator<=>(const AlgoConfig&) const = default;
};

template <typename T>
bool Get(const cublasLtMatmulAlgo_t& algo, cublasLtMatmulAlgoConfigAttributes_t attribute,
         T* value) {
  size_t num_written = 0;
  return cublasLtMatmulAlgoConfigGetAttribute(&algo, attribute, value, sizeof(*value),
                                              &num_written) == CUBLAS_STATUS_SUCCESS;
}

template <typename T>
bool Set(cublasLtMatmulAlgo_t* algo, cublasLtMatmulAlgoConfigAttributes_t attribute, T value) {
  return cublasLtMatmulAlgoConfigSetAttribute(algo, attribute, &value, sizeof(value)) ==
         CUBLAS_STATUS_SUCCESS;
}

// Nothing where the words of `algo` are none that the library knows.
std::optional<AlgoConfig> ConfigOf(const cublasLtMatmulAlgo_t& algo) {
  AlgoConfig config;
  const bool got = Get(algo, CUBLASLT_ALGO_CONFIG_ID, &config.id) &&
                   Get(algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &config.tile) &&
                   Get(algo, CUBLASLT_ALGO_CONFIG_STAGES_ID, &config.stages) &&
                   Get(algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &config.num_splits) &&
                   Get(algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &config.reduction) &&
                   Get(algo, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, &config.swizzling) &&
                   Get(algo, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, &config.custom) &&
                   Get(algo, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, &config.inner_shape) &&
                   Get(algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, &config.cluster_shape);
  if (!got) return std::nullopt;
  return config;
}

// Takes the split away from `algo`; false where it cannot be without.
bool RemoveSplit(cublasLtMatmulAlgo_t* algo) {
  if (IsUnsplit(*algo)) return true;
  return Set(algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, int32_t{1}) &&
         Set(algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME,
             uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE}) &&
         IsUnsplit(*algo);
}

}  // namespace

bool IsUnsplit(const cublasLtMatmulAlgo_t& algo) {
  const std::optional<AlgoConfig> config = ConfigOf(algo);
  return config && config->num_splits == 1 && config->reduction == CUBLASLT_REDUCTION_SCHEME_NONE;
}

std::vector<cublasLtMatmulAlgo_t> UnsplitCandidates(const CublasLt& cublas, const GemmShape& shape,
                                                    std::span<const int> ms) {
  std::vector<cublasLtMatmulAlgo_t> candidates;
  std::set<AlgoConfig> seen;
  for (const int m : ms) {
    GemmProblem problem(shape, m);
    // Asked for both: some configurations are only offered where there is no workspace.
    for (const size_t workspace_bytes : {size_t{0}, kGemmWorkspaceBytes}) {
      for (cublasLtMatmulAlgo_t& algo : problem.Heuristics(cublas, workspace_bytes, kMaxResults)) {
        if (RemoveSplit(&algo) && seen.insert(*ConfigOf(algo)).second) candidates.push_back(algo);
      }
    }
  }
  return candidates;
}

size_t FirstHeuristic(const CublasLt& cublas, const GemmShape& shape, int m,
                      std::span<const cublasLtMatmulAlgo_t> candidates) {
  GemmProblem problem(shape, m);
  std::vector<cublasLtMatmulAlgo_t> first = problem.Heuristics(cublas, kGemmWorkspaceBytes, 1);
  if (first.empty() || !RemoveSplit(&first.front())) return candidates.size();
  const auto same = [config = ConfigOf(first.front())](const cublasLtMatmulAlgo_t& algo) {
    return ConfigOf(algo) == config;
  };
  const auto found = std::find_if(candidates.begin(), candidates.end(), same);
  return static_cast<size_t>(found - candidates.begin());
}

std::optional<cublasLtMatmulAlgo_t> Float32Twin(const CublasLt& cublas,
                                                const cublasLtMatmulAlgo_t& algo) {
  const std::optional<AlgoConfig> config = ConfigOf(algo);
  if (!config) return std::nullopt;
  cublasLtMatmulAlgo_t twin;
  const cublasStatus_t status =
      cublasLtMatmulAlgoInit(cublas.get(), CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF,
                             CUDA_R_32F, CUDA_R_32F, config->id, &twin);
  if (status != CUBLAS_STATUS_SUCCESS) return std::nullopt;
  const bool set = Set(&twin, CUBLASLT_ALGO_CONFIG_TILE_ID, config->tile) &&
                   Set(&twin, CUBLASLT_ALGO_CONFIG_STAGES_ID, config->stages) &&
                   Set(&twin, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, config->num_splits) &&
                   Set(&twin, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, config->reduction) &&
                   Set(&twin, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, config->swizzling) &&
                   Set(&twin, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, config->custom) &&
                   Set(&twin, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, config->inner_shape) &&
                   Set(&twin, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, config->cluster_shape);
  if (!set || ConfigOf(twin) != config) return std::nullopt;
  return twin;
}

}  // namespace detcheck::cuda
