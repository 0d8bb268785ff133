#pragma once

#include <cuda_runtime.h>

#include <string>
#include <vector>

namespace detcheck::cuda {

/// SHA-256 (hex) of each of `num_rows` rows of `width` float32 values on the device, made there;
/// waits for the stream. One thread digests one row: rows run side by side.
std::vector<std::string> DigestRows(const float* rows, int num_rows, int width,
                                    cudaStream_t stream);

}  // namespace detcheck::cuda
