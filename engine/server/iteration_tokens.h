#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace detcheck {

/// Histogram of the tokens of engine steps, as vLLM's `vllm:iteration_tokens_total` has it: a step
/// that gives no request a token is not counted, and the computed tokens of a prompt all count in
/// the step that ends its prefill, whatever its chunks were.
class IterationTokens {
 public:
  /// Upper bounds of the buckets, included; the last bucket, beyond them, has none.
  static constexpr std::array<int, 13> kBounds = {1,   8,    16,   32,   64,   128,  256,
                                                  512, 1024, 2048, 4096, 8192, 16384};

  /// A step of so many tokens: generated ones, and those of prompts whose prefill has ended.
  void Add(int64_t num_tokens);

  int64_t num_steps() const { return num_steps_; }
  int64_t sum() const { return sum_; }
  /// Steps of at most kBounds[i] tokens.
  int64_t AtMost(size_t i) const { return at_most_[i]; }

 private:
  std::array<int64_t, kBounds.size()> at_most_{};
  int64_t num_steps_ = 0;
  int64_t sum_ = 0;
};

}  // namespace detcheck
