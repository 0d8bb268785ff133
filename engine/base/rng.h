#pragma once

#include <array>
#include <cstdint>

namespace detcheck {

/// Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011): four
/// random words of (counter, key), with no state. Checked against the authors' known answers.
std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// A stream of numbers from one seed, for drawing plans and tests. Equal on every machine.
class Rng {
 public:
  /// `stream` keeps the draws for different purposes apart under one seed.
  explicit Rng(uint64_t seed, uint32_t stream = 0) : seed_(seed), stream_(stream) {}

  uint32_t Next32();
  uint64_t Next64() { return uint64_t{Next32()} << 32 | Next32(); }
  /// Uniform in [0, bound), without bias; bound >= 1.
  uint32_t Below(uint32_t bound);
  /// Uniform in [low, high], both included.
  int Between(int low, int high) {
    return low + static_cast<int>(Below(static_cast<uint32_t>(high - low) + 1));
  }
  /// Uniform in [0, 1), 53 bits.
  double Unit() { return static_cast<double>(Next64() >> 11) * 0x1p-53; }

 private:
  uint64_t seed_;
  uint32_t stream_;
  uint64_t counter_ = 0;
  std::array<uint32_t, 4> words_{};
  int num_left_ = 0;
};

}  // namespace detcheck
