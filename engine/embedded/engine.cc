#include "engine/embedded/engine.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/base/error.h"
#include "engine/embedded/batch_run.h"
#include "engine/embedded/model_files.h"
#include "engine/embedded/weights_dtype.h"

namespace detcheck {
namespace {

constexpr int64_t kMostDefaultPoolTokens = 65536;

void CheckAtLeastOne(const char* option, int value) {
  if (value >= 1) return;
  throw Error(ErrorCode::kUsage,
              std::string(option) + " is " + std::to_string(value) + ", at least 1 is needed");
}

int64_t KvBytesPerToken(const ModelConfig& config) {
  return int64_t{2} * config.num_layers * config.kv_width() *
         static_cast<int64_t>(DTypeBytes(config.dtype));
}

/// Four whole contexts, as far as 65,536 tokens and `most_bytes` go, and at least one page.
int64_t DefaultPoolTokens(const ModelConfig& config, int page_size, int64_t most_bytes) {
  const int64_t tokens = std::min({int64_t{4} * config.context_len, kMostDefaultPoolTokens,
                                   most_bytes / KvBytesPerToken(config)});
  return std::max<int64_t>(tokens, page_size);
}

int NumPages(const ModelConfig& config, const EngineOptions& options, int64_t most_bytes) {
  const int64_t tokens = options.max_total_tokens > 0
                             ? options.max_total_tokens
                             : DefaultPoolTokens(config, options.page_size, most_bytes);
  if (tokens < options.page_size) {
    throw Error(ErrorCode::kUsage, "max_total_tokens is " + std::to_string(tokens) +
                                       ", less than a page of " +
                                       std::to_string(options.page_size) + " tokens");
  }
  return static_cast<int>(tokens / options.page_size);
}

int ScoreChunkLen(const ModelConfig& config, const EngineOptions& options, int64_t most_bytes) {
  const int64_t most_rows = most_bytes / (int64_t{4} * config.vocab_size);
  return static_cast<int>(std::clamp<int64_t>(most_rows, 1, options.chunked_prefill_size));
}

}  // namespace

Engine::Engine(const EngineOptions& options, const EngineDevice& device) : options_(options) {
  CheckAtLeastOne("page_size", options.page_size);
  CheckAtLeastOne("chunked_prefill_size", options.chunked_prefill_size);
  CheckAtLeastOne("max_running_requests", options.max_running_requests);
  loaded_ = LoadModel(options);
  limits_ = {.chunked_prefill_size = options.chunked_prefill_size,
             .max_running_requests = options.max_running_requests,
             .context_len = loaded_.config.context_len,
             .vocab_size = loaded_.config.vocab_size,
             .eos_ids = loaded_.config.eos_ids};
  pool_ = std::make_unique<KvPool>(NumPages(loaded_.config, options, device.most_kv_bytes),
                                   options.page_size);
  pages_ = std::make_unique<SequencePages>(pool_.get(), options.radix_cache);
  score_chunk_ = ScoreChunkLen(loaded_.config, options, device.most_score_logits_bytes);
  const int max_rows = options.chunked_prefill_size + options.max_running_requests;
  ops_ = device.make_ops(loaded_.config, options,
                         {.max_rows = max_rows,
                          .max_sequences = options.max_running_requests,
                          .max_logit_rows = std::max(options.max_running_requests, score_chunk_)});
  model_ = std::make_unique<Model>(loaded_.config, loaded_.weights.get(), ops_.get(), max_rows);
  ops_->AllocateKvCache(kv_pool_tokens());
}

BatchResult Engine::Run(const std::vector<BatchItem>& items, const std::atomic<bool>& stop,
                        const TokenCallback& on_token, const LogitObserver& observer) {
  return RunBatch(NewScheduler(observer).get(), items, stop, on_token);
}

std::unique_ptr<Scheduler> Engine::NewScheduler(const LogitObserver& observer) {
  SchedulerModel model{.ops = ops_.get(),
                       .forward = [this](const StepBatch& batch) { model_->Forward(batch); }};
  return std::make_unique<Scheduler>(limits_, pages_.get(), std::move(model), observer);
}

std::optional<std::string> Engine::WhyRefused(const Request& request) const {
  return WhyImpossible(request.prompt_ids, request.max_new_tokens, limits_, *pages_);
}

bool Engine::HasPagesFor(int num_tokens) const {
  return PagesFor(num_tokens, pages_->page_size()) <= pages_->num_available();
}

int Engine::kv_used_tokens() const {
  return (pages_->num_pages() - pages_->num_available()) * pages_->page_size();
}

std::vector<TokenLogprob> Engine::Score(const std::vector<TokenId>& ids, int top_logprobs) {
  if (const auto why = WhyImpossible(ids, /*num_new=*/0, limits_, *pages_)) {
    throw Error(ErrorCode::kInput, "score: " + *why);
  }
  std::vector<TokenLogprob> scores;
  if (ids.size() == 1) return scores;

  Sequence seq;
  seq.ids.assign(ids.begin(), ids.end() - 1);
  pages_->Admit(&seq, /*reserve=*/0);
  const auto release = [this](Sequence* s) { pages_->Release(s); };
  const std::unique_ptr<Sequence, decltype(release)> guard(&seq, release);

  while (seq.num_computed < seq.len()) {
    const int num_tokens = std::min(score_chunk_, seq.len() - seq.num_computed);
    const auto targets = std::span(ids).subspan(seq.num_computed + 1, num_tokens);
    for (TokenLogprob& score : ScoreChunk(seq, targets, top_logprobs)) {
      scores.push_back(std::move(score));
    }
    seq.num_computed += num_tokens;
  }
  return scores;
}

std::vector<TokenLogprob> Engine::ScoreChunk(const Sequence& seq, std::span<const TokenId> targets,
                                             int top_logprobs) {
  StepBatch batch;
  AppendToStep(seq, static_cast<int>(targets.size()), &batch);
  for (int row = 0; row < batch.num_rows(); ++row) batch.logit_rows.push_back(row);
  model_->Forward(batch);
  return ops_->Score(targets, top_logprobs);
}

Manifest Engine::Describe() {
  if (manifest_) return *manifest_;
  manifest_ = loaded_.weights->Describe();
  if (!loaded_.dir.empty()) {
    for (ManifestField& field : DescribeModelFiles(loaded_.dir)) {
      manifest_->push_back(std::move(field));
    }
  }
  for (ManifestField& field : ops_->Describe()) manifest_->push_back(std::move(field));
  return *manifest_;
}

}  // namespace detcheck
