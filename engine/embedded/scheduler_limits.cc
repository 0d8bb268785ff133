#include "engine/embedded/scheduler_limits.h"

#include <cstdint>

namespace detcheck {

std::optional<std::string> WhyImpossible(const std::vector<TokenId>& prompt_ids, int num_new,
                                         const SchedulerLimits& limits,
                                         const SequencePages& pages) {
  const auto prompt_len = static_cast<int64_t>(prompt_ids.size());
  if (prompt_len == 0) return "the prompt is empty";
  for (int64_t i = 0; i < prompt_len; ++i) {
    if (prompt_ids[i] >= 0 && prompt_ids[i] < limits.vocab_size) continue;
    return "prompt token " + std::to_string(i) + " is " + std::to_string(prompt_ids[i]) +
           ", outside the vocabulary of " + std::to_string(limits.vocab_size);
  }
  const int64_t total = prompt_len + num_new;
  const std::string asked = "a prompt of " + std::to_string(prompt_len) + " tokens and " +
                            std::to_string(num_new) + " new ones ";
  if (total > limits.context_len) {
    return asked + "exceed the context of " + std::to_string(limits.context_len) + " tokens";
  }
  // The last token's KV is never computed.
  if (PagesFor(total - 1, pages.page_size()) > pages.num_pages()) {
    return asked + "do not fit the KV pool of " + std::to_string(pages.num_pages()) + " pages of " +
           std::to_string(pages.page_size()) + " tokens (max_total_tokens)";
  }
  return std::nullopt;
}

}  // namespace detcheck
