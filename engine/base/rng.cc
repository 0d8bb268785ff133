#include "engine/base/rng.h"

namespace detcheck {

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

uint32_t Rng::Next32() {
  if (num_left_ == 0) {
    words_ = Philox4x32({static_cast<uint32_t>(counter_), static_cast<uint32_t>(counter_ >> 32),
                         stream_, 0},
                        {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
    ++counter_;
    num_left_ = 4;
  }
  return words_[--num_left_];
}

uint32_t Rng::Below(uint32_t bound) {
  const uint32_t threshold = -bound % bound;  // 2^32 mod bound: words below it would bias
  for (;;) {
    const uint64_t product = uint64_t{Next32()} * bound;
    if (static_cast<uint32_t>(product) >= threshold) return static_cast<uint32_t>(product >> 32);
  }
}

}  // namespace detcheck
