#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "engine/base/request.h"
#include "engine/embedded/device.h"
#include "engine/embedded/kv_pool.h"
#include "engine/embedded/model.h"
#include "engine/embedded/model_dir.h"
#include "engine/embedded/ops.h"
#include "engine/embedded/options.h"
#include "engine/embedded/scheduler.h"
#include "engine/embedded/scheduler_limits.h"
#include "engine/embedded/sequence_pages.h"

namespace detcheck {

/// A model, its KV cache and its prefix cache. Not thread-safe.
class Engine {
 public:
  /// Loads the model and allocates the KV cache. Throws Error(kUsage) for options that cannot be,
  /// and the errors of LoadModel and of the Ops.
  Engine(const EngineOptions& options, const EngineDevice& device);

  /// Runs one batch, as Backend::Complete. `observer`: see LogitObserver.
  BatchResult Run(const std::vector<BatchItem>& items, const std::atomic<bool>& stop,
                  const TokenCallback& on_token, const LogitObserver& observer = nullptr);

  /// Continuous batching on this engine, which must outlive it; one at a time, and not while Run
  /// runs. Score and Flush may be called between its steps.
  std::unique_ptr<Scheduler> NewScheduler(const LogitObserver& observer = nullptr);

  /// As Backend::Score. Reads nothing of the prefix cache and leaves nothing in it, but may evict.
  /// Throws Error(kInput) for ids that the model or the KV pool cannot take.
  std::vector<TokenLogprob> Score(const std::vector<TokenId>& ids, int top_logprobs);

  /// Why the engine will never run a request, whatever else it runs; nothing where it can.
  std::optional<std::string> WhyRefused(const Request& request) const;
  /// Whether a sequence of so many tokens finds pages now.
  bool HasPagesFor(int num_tokens) const;

  FlushResult Flush() { return pages_->Flush(); }

  const ModelConfig& config() const { return loaded_.config; }
  /// Tokens that the KV pool holds.
  int kv_pool_tokens() const { return pool_->num_pages() * pool_->page_size(); }
  /// Of these, how many sequences hold.
  int kv_used_tokens() const;
  /// The manifest fields of the weights, the model's other files and the Ops; may read all weights
  /// (digests). Throws the errors of DescribeModelFiles.
  Manifest Describe();

 private:
  /// Computes the next targets.size() tokens of `seq` and scores the tokens after each.
  std::vector<TokenLogprob> ScoreChunk(const Sequence& seq, std::span<const TokenId> targets,
                                       int top_logprobs);

  EngineOptions options_;
  LoadedModel loaded_;
  SchedulerLimits limits_;
  int score_chunk_ = 0;  ///< Positions that are scored at once.
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<KvPool> pool_;
  std::unique_ptr<SequencePages> pages_;
  std::optional<Manifest> manifest_;  ///< Kept once it was asked for.
};

}  // namespace detcheck
