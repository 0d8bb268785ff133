#pragma once

#include <memory>

#include "engine/embedded/cuda/gemm.h"

namespace detcheck::cuda {

/// Products whose rows have the same bits whatever M is: all configurations of a shape come from
/// its class without a split of K (gemm_class.h), verified on this device when the shape is
/// prepared. Needs no workspace. A product of more rows than were verified in one call (large
/// outputs) is made in slices.
std::unique_ptr<Gemm> MakeDeterministicGemm();

}  // namespace detcheck::cuda
