#pragma once

#include <cstdint>

namespace detcheck::cuda {

/// Philox4x32-10: the words of detcheck::Philox4x32 (engine/base/rng.h) for the same counter
/// (x, y, z, w) and key.
__device__ __forceinline__ uint4 Philox4x32(uint4 counter, uint32_t key0, uint32_t key1) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * counter.x;
    const uint64_t p1 = uint64_t{0xCD9E8D57} * counter.z;
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter.y ^ key0, static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter.w ^ key1, static_cast<uint32_t>(p0)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

}  // namespace detcheck::cuda
