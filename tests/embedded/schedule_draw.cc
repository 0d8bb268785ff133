#include "tests/embedded/schedule_draw.h"

#include <algorithm>

#include "engine/embedded/kv_pool.h"

namespace detcheck {
namespace {

constexpr int kNumFamilies = 3;

}  // namespace

int ScheduleRanges::most_prompt() const {
  int most = 0;
  for (const LengthBand& band : prompts) most = std::max(most, band.high);
  return most;
}

ScheduleRanges ScheduleRanges::Tiny(int num_engines) {
  return {.num_engines = num_engines,
          .least_chunk = 1,
          .most_chunk = 300,
          .small_chunk = 24,
          .most_items = 12,
          .small_items = 5,
          .most_new_tokens = 12,
          .prompts = {{60, 340, 340}, {60, 100, 340}, {10, 12, 60}, {1, 1, 12}},
          .small_pool_slack = 6,
          .pool_tokens = 12 * 64};
}

ScheduleRanges ScheduleRanges::Large(int num_engines) {
  return {.num_engines = num_engines,
          .least_chunk = 256,
          .most_chunk = 8192,
          .small_chunk = 512,
          .most_items = 128,
          .small_items = 12,
          .most_new_tokens = 40,
          .prompts = {{150, 8192, 8192}, {50, 1000, 8191}, {8, 60, 600}, {1, 1, 60}},
          .small_pool_slack = 64,
          .pool_tokens = 40000};
}

ScheduleDraw::ScheduleDraw(uint64_t seed, int vocab_size, const ScheduleRanges& ranges)
    : rng_(seed), ranges_(ranges) {
  families_.resize(kNumFamilies);
  for (auto& family : families_) {
    for (int i = 0; i < ranges_.most_prompt(); ++i)
      family.push_back(rng_.Between(0, vocab_size - 1));
  }
}

ScheduleSetup ScheduleDraw::Setup() {
  ScheduleSetup setup;
  setup.engine = rng_.Between(0, ranges_.num_engines - 1);
  setup.chunked_prefill_size =
      OneIn(8) ? ranges_.least_chunk
      : OneIn(8)
          ? ranges_.most_chunk
          : rng_.Between(ranges_.least_chunk, OneIn(2) ? ranges_.small_chunk : ranges_.most_chunk);
  setup.max_running_requests = OneIn(4)   ? rng_.Between(1, 3)
                               : OneIn(4) ? ranges_.most_items
                                          : rng_.Between(4, ranges_.most_items);
  setup.radix_cache = !OneIn(4);
  setup.small_pool = OneIn(2);
  setup.page_size = rng_.Between(1, setup.small_pool ? 3 : OneIn(2) ? 6 : 64);
  setup.placement_seed = rng_.Next64();
  setup.num_batches = OneIn(2) ? 1 : 2;
  if (OneIn(10)) {
    setup.full = true;
    setup.small_pool = false;
    setup.max_running_requests = ranges_.most_items;
    setup.chunked_prefill_size = rng_.Between(ranges_.most_chunk / 4, ranges_.most_chunk);
  }
  return setup;
}

std::vector<BatchItem> ScheduleDraw::Batch(const ScheduleSetup& setup,
                                           const std::vector<std::vector<TokenId>>& earlier) {
  if (setup.full) return FullBatch();
  const int num_items = OneIn(8)
                            ? ranges_.most_items
                            : rng_.Between(1, OneIn(2) ? ranges_.most_items : ranges_.small_items);
  std::vector<BatchItem> items(num_items);
  for (int i = 0; i < num_items; ++i) {
    Request& request = items[i].request;
    request.prompt_ids = Prompt(earlier);
    request.max_new_tokens = rng_.Between(1, OneIn(4) ? ranges_.most_new_tokens : 12);
    request.sampling = DrawSampling();
    if (OneIn(4)) request.top_logprobs = rng_.Between(0, 3);
    if (OneIn(5)) request.cache = CacheWish::kBypass;
    items[i].release = DrawRelease(i, num_items);
    if (OneIn(8)) items[i].abort_after_tokens = rng_.Between(1, 4);
  }
  return items;
}

std::vector<BatchItem> ScheduleDraw::FullBatch() {
  std::vector<BatchItem> items(static_cast<size_t>(ranges_.most_items));
  const LengthBand& shortest = ranges_.prompts.back();
  for (BatchItem& item : items) {
    item.request.prompt_ids = FamilyPrompt(rng_.Between(shortest.low, shortest.high));
    item.request.max_new_tokens = ranges_.most_new_tokens;
    item.request.sampling = DrawSampling();
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
  if (setup.small_pool) {
    return least + rng_.Between(1, 2 + ranges_.small_pool_slack / setup.page_size);
  }
  return PagesFor(ranges_.pool_tokens, setup.page_size) +
         PagesFor(ranges_.most_prompt() + 64, setup.page_size);
}

std::vector<TokenId> ScheduleDraw::Prompt(const std::vector<std::vector<TokenId>>& earlier) {
  std::vector<TokenId> prompt;
  if (!earlier.empty() && OneIn(2)) {
    prompt = earlier[rng_.Below(static_cast<uint32_t>(earlier.size()))];
    const auto len = static_cast<int>(prompt.size());
    prompt.resize(rng_.Between(std::max(1, len - 3), len));
    if (len > ranges_.most_prompt()) prompt.resize(static_cast<size_t>(ranges_.most_prompt()));
    return prompt;
  }
  return FamilyPrompt(PromptLen());
}

std::vector<TokenId> ScheduleDraw::FamilyPrompt(int len) {
  std::vector<TokenId> prompt;
  // Two prompts of a family share a prefix, most of them up to a point where another one goes on.
  const auto& family = families_[rng_.Below(kNumFamilies)];
  const auto& other = families_[rng_.Below(kNumFamilies)];
  const int cut = OneIn(3) ? rng_.Between(1, len) : len;
  prompt.assign(family.begin(), family.begin() + cut);
  prompt.insert(prompt.end(), other.begin() + cut, other.begin() + len);
  return prompt;
}

int ScheduleDraw::PromptLen() {
  for (const LengthBand& band : ranges_.prompts) {
    if (OneIn(band.one_in)) return rng_.Between(band.low, band.high);
  }
  return 1;
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
