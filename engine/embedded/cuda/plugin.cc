#include "engine/embedded/cuda/plugin.h"

#include "engine/base/error.h"
#include "engine/embedded/cuda/cuda_ops.h"
#include "engine/embedded/cuda/gpu.h"

namespace {

std::unique_ptr<detcheck::Ops> MakeOps(const detcheck::ModelConfig& config,
                                       const detcheck::EngineOptions& options,
                                       const detcheck::StepCapacity& capacity) {
  return std::make_unique<detcheck::cuda::CudaOps>(config, options, capacity);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const detcheck::cuda::Plugin*
DETCHECK_CUDA_ENTRY() {
  static const detcheck::cuda::Plugin plugin = {.find_gpu = detcheck::cuda::FindGpu,
                                                .make_ops = MakeOps};
  return &plugin;
}
