#pragma once

#include "engine/embedded/cpu/dispatch.h"
#include "engine/embedded/cpu/rounding.h"
#include "engine/embedded/cpu/thread_pool.h"
#include "engine/embedded/model_config.h"

namespace detcheck::cpu {

/// Checks, with the kernels and threads in use, that the rows of a matrix product do not depend on
/// how many rows there are or where they stand, and that attention gives a row the same bits in a
/// prefill and in a decode, wherever its keys lie. A small fraction of a second. Throws
/// Error(kDevice) where that does not hold.
void VerifyDeterminism(const ModelConfig& config, const KernelTable& kernels, Rounding rounding,
                       ThreadPool* pool);

}  // namespace detcheck::cpu
