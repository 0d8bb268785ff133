#pragma once

#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "engine/embedded/cuda/device_memory.h"

namespace detcheck::cuda {

/// Elements of a row that one thread digests.
inline constexpr int kDigestPieceLen = 1024;

/// Digest (hex) of each of `num_rows` rows of `width` float32 values on the device, made there;
/// waits for the stream. A row is cut into pieces of kDigestPieceLen values (the last may be
/// shorter); its digest is the SHA-256 of its pieces' SHA-256, one after another. `scratch` is
/// replaced where it is too small.
std::vector<std::string> DigestRows(const float* rows, int num_rows, int width,
                                    DeviceBuffer* scratch, cudaStream_t stream);

}  // namespace detcheck::cuda
