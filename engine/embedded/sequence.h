#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/request.h"
#include "engine/embedded/kv_pool.h"
#include "engine/embedded/ops.h"
#include "engine/embedded/radix_cache.h"

namespace detcheck {

/// A request while the scheduler has it. Lengths count tokens:
/// 0 <= num_tree_pages · page_size <= num_computed <= len(), and num_computed < len() between
/// steps.
struct Sequence {
  int item = 0;                      ///< Index in the batch.
  const Request* request = nullptr;  ///< Outlives the sequence.
  std::vector<TokenId> ids;          ///< The prompt, then what was generated.
  int num_computed = 0;              ///< Tokens whose KV is in the cache.
  /// Past its prefill: every step computes one token, the last of `ids`. Until then steps compute
  /// chunks of ids[num_computed ..], which after a preemption includes generated tokens.
  bool decoding = false;

  bool uses_cache = false;             ///< Reads the prefix cache and leaves its pages there.
  std::vector<PageId> pages;           ///< Of positions 0 .., in order.
  int num_tree_pages = 0;              ///< The first ones, which are the prefix cache's.
  RadixCache::Node* locked = nullptr;  ///< Last node of their path, locked; null: none.
  std::vector<int32_t> slots;          ///< KV slot of each position that has a page.

  int len() const { return static_cast<int>(ids.size()); }
  int prompt_len() const { return static_cast<int>(request->prompt_ids.size()); }
  int num_generated() const { return len() - prompt_len(); }
};

/// Adds the next `num_tokens` tokens of `seq` to a step; `seq` must keep its pages during the step.
void AppendToStep(const Sequence& seq, int num_tokens, StepBatch* batch);

}  // namespace detcheck
