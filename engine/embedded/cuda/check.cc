#include "engine/embedded/cuda/check.h"

#include <string>

#include "engine/base/error.h"

namespace detcheck::cuda {

void CheckStatus(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  // It is told here, and must not be told again to the next one that asks, of another call.
  cudaGetLastError();
  std::string name(call);
  name = name.substr(0, name.find('('));
  if (name == "cudaGetLastError") name = "launch of a kernel";
  throw Error(ErrorCode::kDevice, "CUDA: " + name + ": " + cudaGetErrorString(status));
}

}  // namespace detcheck::cuda
