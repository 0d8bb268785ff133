#pragma once

#include <cuda_runtime.h>

namespace detcheck::cuda {

/// Throws Error(kDevice) that names `call` and what the runtime says of `status`, unless it is
/// cudaSuccess. The runtime then no longer has it as its last error, if the device still works.
void CheckStatus(cudaError_t status, const char* call);

}  // namespace detcheck::cuda

/// Every call of the CUDA runtime goes through this; after a kernel launch: cudaGetLastError().
#define DETCHECK_CUDA(call) ::detcheck::cuda::CheckStatus((call), #call)
