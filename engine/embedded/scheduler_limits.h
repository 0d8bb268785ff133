#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/request.h"
#include "engine/embedded/sequence_pages.h"

namespace detcheck {

struct SchedulerLimits {
  int chunked_prefill_size = 256;  ///< Most prefill tokens of one engine step.
  int max_running_requests = 128;  ///< Most requests in one engine step.
  int context_len = 0;             ///< Most tokens of prompt and answer.
  int vocab_size = 0;
  std::vector<TokenId> eos_ids;
};

/// Why a prompt with `num_new` tokens after it can never run, however many pages of `pages` are
/// free; nothing where it can.
std::optional<std::string> WhyImpossible(const std::vector<TokenId>& prompt_ids, int num_new,
                                         const SchedulerLimits& limits, const SequencePages& pages);

}  // namespace detcheck
