#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/embedded/batch_run.h"
#include "engine/embedded/scheduler.h"
#include "tests/embedded/fake_ops.h"

namespace detcheck {

/// A scheduler over a FakeOps, with its pages kept from batch to batch.
struct SchedulerRig {
  explicit SchedulerRig(int num_pages = 64, int page_size = 4, bool radix_cache = true)
      : ops(num_pages * page_size), pool(num_pages, page_size), pages(&pool, radix_cache) {
    limits.chunked_prefill_size = 16;
    limits.max_running_requests = 8;
    limits.context_len = 256;
    limits.vocab_size = FakeOps::kVocab;
  }

  BatchResult Run(const std::vector<BatchItem>& items, const TokenCallback& on_token = nullptr,
                  const LogitObserver& observer = nullptr) {
    ops.steps.clear();
    const std::unique_ptr<Scheduler> scheduler = NewScheduler(observer);
    return RunBatch(scheduler.get(), items, stop, on_token);
  }

  std::unique_ptr<Scheduler> NewScheduler(const LogitObserver& observer = nullptr) {
    const SchedulerModel model{&ops, [this](const StepBatch& batch) { ops.BeginStep(batch); }};
    return std::make_unique<Scheduler>(limits, &pages, model, observer);
  }

  /// Every page is free or cached; holds whenever nothing runs.
  bool NoPageLost() const {
    return pages.num_free() + pages.num_cached() == pages.num_pages() && pages.num_admitted() == 0;
  }

  FakeOps ops;
  KvPool pool;
  SequencePages pages;
  SchedulerLimits limits;
  std::atomic<bool> stop = false;
};

/// `len` token IDs first, first + 1, ...
inline std::vector<TokenId> Ids(TokenId first, int len) {
  std::vector<TokenId> ids(len);
  for (int i = 0; i < len; ++i) ids[i] = (first + i) % FakeOps::kVocab;
  return ids;
}

inline BatchItem Item(std::vector<TokenId> prompt, int max_new_tokens, Release release = {}) {
  BatchItem item;
  item.request.prompt_ids = std::move(prompt);
  item.request.max_new_tokens = max_new_tokens;
  item.release = release;
  return item;
}

inline Release AfterTokens(int item, int count) {
  return {.kind = Release::Kind::kAfterTokens, .item = item, .count = count};
}

inline Release AtStep(int step) {
  return {.kind = Release::Kind::kAtEngineStep, .item = 0, .count = step};
}

/// The answer that FakeOps gives to a prompt, from the definition.
inline std::vector<TokenId> ExpectedAnswer(const std::vector<TokenId>& prompt, int num_tokens) {
  std::vector<TokenId> ids = prompt;
  for (int i = 0; i < num_tokens; ++i) {
    ids.push_back(static_cast<TokenId>(FakeOps::Hash(ids) % FakeOps::kVocab));
  }
  return {ids.begin() + static_cast<int64_t>(prompt.size()), ids.end()};
}

/// Steps as text: "0: 0p5 1p3 | 1-3: 0d 1d"; p is prefill tokens, d a decode.
inline std::string Show(const std::vector<EngineStepSpan>& spans) {
  std::string text;
  for (const EngineStepSpan& span : spans) {
    if (!text.empty()) text += " | ";
    text += std::to_string(span.first_step);
    if (span.num_steps > 1) text += "-" + std::to_string(span.first_step + span.num_steps - 1);
    text += ":";
    for (const auto& row : span.rows) {
      text += " " + std::to_string(row.item);
      text += row.decode ? "d" : "p" + std::to_string(row.num_tokens);
    }
  }
  return text;
}

}  // namespace detcheck
