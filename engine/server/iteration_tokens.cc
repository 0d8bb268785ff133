#include "engine/server/iteration_tokens.h"

namespace detcheck {

void IterationTokens::Add(int64_t num_tokens) {
  ++num_steps_;
  sum_ += num_tokens;
  for (size_t i = 0; i < kBounds.size(); ++i) at_most_[i] += num_tokens <= kBounds[i];
}

}  // namespace detcheck
