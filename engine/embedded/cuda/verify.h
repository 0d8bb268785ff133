#pragma once

#include <string>

#include "engine/embedded/cuda/attention.h"

namespace detcheck::cuda {

/// Computes random rows with the backend's deterministic mode on this device, decoded one by one
/// and prefilled in chunks, in two page placements and beside other sequences, and compares their
/// bits. Throws Error(kDevice), naming what differed, where they do.
void VerifyAttention(const std::string& backend, const AttentionShape& shape);

}  // namespace detcheck::cuda
