#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "engine/embedded/synthetic_fill.h"

namespace detcheck::cuda {

/// Elements 0 .. count - 1 of a synthetic tensor as bf16 at `out` on the device: the same bits as
/// detcheck::FillSynthetic writes on the host.
void FillSynthetic(const SyntheticTensor& tensor, int64_t count, __nv_bfloat16* out,
                   cudaStream_t stream);

}  // namespace detcheck::cuda
