#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/request.h"
#include "engine/base/rng.h"

namespace detcheck {

/// What one schedule runs with; batches follow one another over the same pages and prefix cache.
struct ScheduleSetup {
  int num_threads = 1;
  int chunked_prefill_size = 1;
  int max_running_requests = 1;
  int page_size = 1;
  bool radix_cache = true;
  bool small_pool = false;  ///< Little more than the largest request needs: forces preemption.
  uint64_t placement_seed = 0;
  int num_batches = 1;
};

/// Draws schedules: all of them a function of the seed.
class ScheduleDraw {
 public:
  ScheduleDraw(uint64_t seed, int vocab_size);

  ScheduleSetup Setup();
  /// `earlier`: sequences (prompt and answer) of the batches before, whose prefixes may come again.
  std::vector<BatchItem> Batch(const std::vector<std::vector<TokenId>>& earlier);
  /// Pages of the schedule's pool, given what its first batch needs.
  int NumPages(const ScheduleSetup& setup, const std::vector<BatchItem>& first_batch);

  static constexpr int kMostThreads = 8;
  static constexpr int kMostChunk = 300;
  static constexpr int kMostItems = 12;
  static constexpr int kMostPrompt = 340;
  static constexpr int kMostNewTokens = 12;

 private:
  bool OneIn(int n) { return rng_.Below(static_cast<uint32_t>(n)) == 0; }
  std::vector<TokenId> Prompt(const std::vector<std::vector<TokenId>>& earlier);
  Sampling DrawSampling();
  Release DrawRelease(int item, int num_items);

  Rng rng_;
  std::vector<std::vector<TokenId>> families_;  ///< Streams whose prefixes are the prompts.
};

}  // namespace detcheck
