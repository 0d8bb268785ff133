#include "engine/embedded/cuda/check.h"

#include <string>

#include "engine/base/error.h"

namespace detcheck::cuda {

void CheckStatus(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  const std::string what = status == cudaErrorMemoryAllocation
                               ? "out of device memory"
                               : std::string(cudaGetErrorString(status));
  throw Error(ErrorCode::kDevice,
              "CUDA: " + std::string(call).substr(0, std::string(call).find('(')) + ": " + what);
}

}  // namespace detcheck::cuda
