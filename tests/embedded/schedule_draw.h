#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/request.h"
#include "engine/base/rng.h"

namespace detcheck {

/// One in `one_in` prompts (of those that no earlier band took) has a length in [low, high].
struct LengthBand {
  int one_in = 1;
  int low = 1;
  int high = 1;
};

/// Between what schedules are drawn. Extremes of chunk, items and prompts are drawn on purpose.
struct ScheduleRanges {
  int num_engines = 1;
  int least_chunk = 1;
  int most_chunk = 1;
  int small_chunk = 1;  ///< Every other chunk is at most this.
  int most_items = 1;
  int small_items = 1;  ///< Every other batch is at most this.
  int most_new_tokens = 1;
  std::vector<LengthBand> prompts;  ///< The last one takes all that is left.
  int small_pool_slack = 6;         ///< Tokens beyond the largest request in a small pool, about.
  int pool_tokens = 0;              ///< Of a pool that is not small, before the longest prompt.

  int most_prompt() const;

  /// Small ones, for the tiny models on the CPU.
  static ScheduleRanges Tiny(int num_engines);
  /// Up to 128 requests, prompts and chunks to 8,192 tokens.
  static ScheduleRanges Large(int num_engines);
};

/// What one schedule runs with; batches follow one another over the same pages and prefix cache.
struct ScheduleSetup {
  int engine = 0;  ///< Index of the engine that runs it.
  int chunked_prefill_size = 1;
  int max_running_requests = 1;
  int page_size = 1;
  bool radix_cache = true;
  bool small_pool = false;  ///< Little more than the largest request needs: forces preemption.
  uint64_t placement_seed = 0;
  int num_batches = 1;
  bool full = false;  ///< Its batches are of as many requests as there can be, all at once.
};

/// Draws schedules: all of them a function of the seed.
class ScheduleDraw {
 public:
  ScheduleDraw(uint64_t seed, int vocab_size, const ScheduleRanges& ranges);

  ScheduleSetup Setup();
  /// `earlier`: sequences (prompt and answer) of the batches before, whose prefixes may come again.
  std::vector<BatchItem> Batch(const ScheduleSetup& setup,
                               const std::vector<std::vector<TokenId>>& earlier);
  /// Pages of the schedule's pool, given what its first batch needs.
  int NumPages(const ScheduleSetup& setup, const std::vector<BatchItem>& first_batch);

 private:
  bool OneIn(int n) { return rng_.Below(static_cast<uint32_t>(n)) == 0; }
  std::vector<TokenId> Prompt(const std::vector<std::vector<TokenId>>& earlier);
  Sampling DrawSampling();
  Release DrawRelease(int item, int num_items);

  int PromptLen();
  std::vector<TokenId> FamilyPrompt(int len);
  std::vector<BatchItem> FullBatch();

  Rng rng_;
  const ScheduleRanges ranges_;
  std::vector<std::vector<TokenId>> families_;  ///< Streams whose prefixes are the prompts.
};

}  // namespace detcheck
