#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/embedded/cuda/attention.h"

/// Rows computed on the host in the order that engine/embedded/cuda/row_kernels.cu states, with the
/// CPU engine's roundings: the bits that the kernels must give. All values are bits of bf16.
namespace detcheck::cuda {

/// out of AddRmsNorm for one row, which is the residual after the addition.
std::vector<uint16_t> RmsNormReference(std::span<const uint16_t> row,
                                       const std::vector<float>& gain, float eps);

/// One q or k head after RopeAndWriteKv; `gain` empty: no norm. `cos` and `sin` are of its
/// position.
std::vector<uint16_t> RopeReference(std::span<const uint16_t> head, const std::vector<float>& gain,
                                    float eps, std::span<const float> cos,
                                    std::span<const float> sin);

}  // namespace detcheck::cuda
