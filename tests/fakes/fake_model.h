#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/request.h"

namespace detcheck {

/// A bijective 64-bit mix (the finaliser of SplitMix64).
uint64_t Mix(uint64_t x);

/// A "language model" that is a hash: what comes next is a function of all tokens so far, with a
/// few candidates of uneven probability. Nothing about it is rounded differently from run to run.
class FakeModel {
 public:
  explicit FakeModel(int vocab_size) : vocab_size_(vocab_size) {}

  static uint64_t Start() { return 0x9E3779B97F4A7C15u; }
  /// State after one more token.
  static uint64_t Extend(uint64_t state, TokenId token);

  struct Next {
    TokenId id = 0;
    TokenLogprob logprob;
  };
  /// What follows `state`; `position` is that of the token to choose. A `salt` other than 0 gives
  /// the answer of another model.
  Next Choose(uint64_t state, uint64_t salt, int position, const Sampling& sampling,
              int top_logprobs) const;
  /// The logprob of `token` after `state`, as Choose gives it.
  TokenLogprob LogprobOf(uint64_t state, TokenId token, int top_logprobs) const;

 private:
  std::vector<TokenCandidate> Candidates(uint64_t state) const;

  int vocab_size_;
};

}  // namespace detcheck
