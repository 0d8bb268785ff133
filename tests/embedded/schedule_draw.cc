#include "tests/embedded/schedule_draw.h"

#include <algorithm>

#include "engine/embedded/kv_pool.h"

namespace detcheck {
namespace {

constexpr int kNumFamilies = 3;

}  // namespace

ScheduleDraw::ScheduleDraw(uint64_t seed, int vocab_size) : rng_(seed) {
  families_.resize(kNumFamilies);
  for (auto& family : families_) {
    for (int i = 0; i < kMostPrompt; ++i) family.push_back(rng_.Between(0, vocab_size - 1));
  }
}

ScheduleSetup ScheduleDraw::Setup() {
  ScheduleSetup setup;
  setup.num_threads = rng_.Between(1, kMostThreads);
  setup.chunked_prefill_size = rng_.Between(1, OneIn(2) ? 24 : kMostChunk);
  setup.max_running_requests = OneIn(4) ? rng_.Between(1, 3) : rng_.Between(4, kMostItems);
  setup.radix_cache = !OneIn(4);
  setup.small_pool = OneIn(2);
  setup.page_size = rng_.Between(1, setup.small_pool ? 3 : OneIn(2) ? 6 : 64);
  setup.placement_seed = rng_.Next64();
  setup.num_batches = OneIn(2) ? 1 : 2;
  return setup;
}

std::vector<BatchItem> ScheduleDraw::Batch(const std::vector<std::vector<TokenId>>& earlier) {
  const int num_items = rng_.Between(1, OneIn(2) ? kMostItems : 5);
  std::vector<BatchItem> items(num_items);
  for (int i = 0; i < num_items; ++i) {
    Request& request = items[i].request;
    request.prompt_ids = Prompt(earlier);
    request.max_new_tokens = rng_.Between(1, kMostNewTokens);
    request.sampling = DrawSampling();
    if (OneIn(4)) request.top_logprobs = rng_.Between(0, 3);
    if (OneIn(5)) request.cache = CacheWish::kBypass;
    items[i].release = DrawRelease(i, num_items);
    if (OneIn(8)) items[i].abort_after_tokens = rng_.Between(1, 4);
  }
  return items;
}

int ScheduleDraw::NumPages(const ScheduleSetup& setup, const std::vector<BatchItem>& first_batch) {
  int most_tokens = 0;
  for (const BatchItem& item : first_batch) {
    const auto prompt_len = static_cast<int>(item.request.prompt_ids.size());
    most_tokens = std::max(most_tokens, prompt_len + item.request.max_new_tokens);
  }
  const int least = PagesFor(most_tokens, setup.page_size);
  if (setup.small_pool) return least + rng_.Between(1, 2 + 6 / setup.page_size);
  return PagesFor(kMostItems * 64, setup.page_size) + PagesFor(kMostPrompt + 64, setup.page_size);
}

std::vector<TokenId> ScheduleDraw::Prompt(const std::vector<std::vector<TokenId>>& earlier) {
  std::vector<TokenId> prompt;
  if (!earlier.empty() && OneIn(2)) {
    prompt = earlier[rng_.Below(static_cast<uint32_t>(earlier.size()))];
    const auto len = static_cast<int>(prompt.size());
    prompt.resize(rng_.Between(std::max(1, len - 3), len));
    if (len > kMostPrompt) prompt.resize(kMostPrompt);
    return prompt;
  }
  const int len = OneIn(60)   ? rng_.Between(100, kMostPrompt)
                  : OneIn(10) ? rng_.Between(12, 60)
                              : rng_.Between(1, 12);
  // Two prompts of a family share a prefix, most of them up to a point where another one goes on.
  const auto& family = families_[rng_.Below(kNumFamilies)];
  const auto& other = families_[rng_.Below(kNumFamilies)];
  const int cut = OneIn(3) ? rng_.Between(1, len) : len;
  prompt.assign(family.begin(), family.begin() + cut);
  prompt.insert(prompt.end(), other.begin() + cut, other.begin() + len);
  return prompt;
}

Sampling ScheduleDraw::DrawSampling() {
  Sampling sampling;
  if (!OneIn(3)) return sampling;
  sampling.temperature = OneIn(2) ? 0.7 : 1.3;
  sampling.seed = 42 + rng_.Below(2);
  if (OneIn(3)) sampling.top_k = 50;
  if (OneIn(3)) sampling.top_p = 0.9;
  if (OneIn(3)) sampling.min_p = 0.05;
  return sampling;
}

Release ScheduleDraw::DrawRelease(int item, int num_items) {
  Release release;
  if (item > 0 && OneIn(3)) {
    release.kind = Release::Kind::kAfterTokens;
    release.item = rng_.Between(0, item - 1);
    release.count = rng_.Between(1, 6);
  } else if (OneIn(4)) {
    release.kind = Release::Kind::kAtEngineStep;
    release.count = rng_.Between(0, 2 * num_items);
  }
  return release;
}

}  // namespace detcheck
