#include "tests/fakes/fake_backend.h"

#include <algorithm>

#include "engine/base/error.h"
#include "tests/fakes/fake_batch.h"

namespace detcheck {
namespace {

constexpr int kFailureInterval = 7;
constexpr double kSlowSeconds = 1.0;
constexpr double kCompileFactor = 20.0;
constexpr double kReplaySeconds = 1e-5;

// All that an answer depends on, where nothing is wrong.
std::string KeyOf(const Request& request) {
  std::string key =
      std::to_string(request.max_new_tokens) + '/' + std::to_string(request.sampling.seed) + '/' +
      std::to_string(request.sampling.temperature) + '/' + std::to_string(request.sampling.top_k) +
      '/' + std::to_string(request.top_logprobs.value_or(-1));
  for (const TokenId id : request.prompt_ids) key += ',' + std::to_string(id);
  return key;
}

}  // namespace

FakeBackend::FakeBackend(const FakeOptions& options)
    : options_(options), cache_(options.page_size) {}

Description FakeBackend::Describe() {
  Description description;
  description.engine = "fake engine";
  const bool is_changed = options_.fault == Fault::kIdentityChanges && num_batches_ > 0;
  description.subject = {
      {"engine.name", "fake", FieldSource::kObserved},
      {"engine.version", is_changed ? "2" : "1", FieldSource::kClaimed},
  };
  TargetFacts& facts = description.facts;
  facts.page_size = options_.page_size;
  facts.chunk_size = options_.chunk_size;
  facts.max_running_requests = options_.max_running_requests;
  facts.kv_pool_tokens = 1 << 20;
  facts.context_len = options_.context_len;
  facts.vocab_size = options_.vocab_size;
  Capabilities& can = facts.capabilities;
  can.ids_in = can.ids_out = can.logprobs = can.top_ids = can.prompt_logprobs = true;
  can.seed = can.ignore_eos = can.stream = can.abort = can.engine_step_release = true;
  can.cached_tokens = can.restart = can.prefix_cache = true;
  can.cache_bypass = options_.cache_bypass;
  can.flush = options_.flush;
  can.batch_witness = options_.fault != Fault::kNoBatchWitness;
  return description;
}

void FakeBackend::FailIfDue() const {
  const bool due = num_batches_ % kFailureInterval == kFailureInterval - 1;
  if (options_.fault == Fault::kThrows && due) {
    throw Error(ErrorCode::kTarget, "fake: connection reset");
  }
  if (options_.fault == Fault::kDies && num_batches_ >= options_.dies_at) {
    throw Error(ErrorCode::kTarget, "fake: connection refused");
  }
  if (options_.fault == Fault::kDeviceFails && num_batches_ == options_.dies_at) {
    throw Error(ErrorCode::kDevice, "fake: the device fell off the bus");
  }
}

uint64_t FakeBackend::Salt() const {
  if (options_.fault == Fault::kRandom) return Mix(static_cast<uint64_t>(num_batches_) + 1);
  if (options_.fault == Fault::kFirstRun && num_batches_ == launched_at_batch_) return 0xF125;
  if (options_.fault == Fault::kAfterAborts && has_aborted_) return 0xAB07;
  if (options_.fault == Fault::kAfterRestart && num_restarts_ > 1) return 0x4E57;
  return 0;
}

BatchResult FakeBackend::Complete(const std::vector<BatchItem>& items,
                                  const std::atomic<bool>& stop, const TokenCallback& on_token) {
  const bool item_fails = options_.fault == Fault::kErrorCompletions &&
                          num_batches_ % kFailureInterval == kFailureInterval - 1;
  const uint64_t salt = Salt();
  try {
    FailIfDue();
  } catch (const Error&) {
    ++num_batches_;
    throw;
  }
  ++num_batches_;
  has_aborted_ = has_aborted_ || std::any_of(items.begin(), items.end(), [](const auto& item) {
                   return item.abort_after_tokens.has_value();
                 });
  BatchResult result = FakeBatch(options_, items, salt, &cache_).Run(stop, on_token);
  for (size_t i = 0; i < items.size(); ++i) Retime(items[i], &result.completions[i]);
  if (item_fails) {
    result.completions.back() = Completion{};
    result.completions.back().finish_reason = FinishReason::kError;
    result.completions.back().error = "fake: 503 service unavailable";
  }
  return result;
}

void FakeBackend::Retime(const BatchItem& item, Completion* answer) {
  CompletionTimes& times = answer->times;
  if (options_.fault == Fault::kSlowFirstToken &&
      seen_prompts_.insert(item.request.prompt_ids).second) {
    times.first_token += kSlowSeconds;
    times.last_token += kSlowSeconds;
  }
  if (options_.fault == Fault::kCompiles &&
      seen_lens_.insert(item.request.prompt_ids.size()).second) {
    times.first_token *= kCompileFactor;
    times.last_token *= kCompileFactor;
  }
  if (options_.fault == Fault::kResponseCache && !item.abort_after_tokens) {
    KeepOrReplay(item, answer);
  }
}

void FakeBackend::KeepOrReplay(const BatchItem& item, Completion* answer) {
  const auto [kept, is_new] = kept_.try_emplace(KeyOf(item.request), *answer);
  if (is_new) return;
  answer->token_ids = kept->second.token_ids;
  answer->logprobs = kept->second.logprobs;
  answer->times.first_token = answer->times.sent + kReplaySeconds;
  answer->times.last_token = answer->times.first_token + kReplaySeconds;
}

std::vector<TokenLogprob> FakeBackend::Score(const std::vector<TokenId>& ids, int top_logprobs) {
  const FakeModel model(options_.vocab_size);
  uint64_t state = FakeModel::Start();
  std::vector<TokenLogprob> scores;
  double drift = options_.fault == Fault::kScoreDrift ? 0x1p-20 : 0.0;
  if (options_.fault == Fault::kScoreRandom) drift = ++num_scores_ * 0x1p-20;
  for (size_t i = 0; i + 1 < ids.size(); ++i) {
    state = FakeModel::Extend(state, ids[i]);
    scores.push_back(model.LogprobOf(state, ids[i + 1], top_logprobs));
    scores.back().logprob *= 1.0 + drift;
  }
  return scores;
}

FlushResult FakeBackend::Flush() {
  ++num_flushes_;
  if (options_.fault == Fault::kFlushRefused) return {false, "fake: requests are running"};
  if (options_.fault != Fault::kFlushLies) cache_.Clear();
  return {true, ""};
}

void FakeBackend::Restart() {
  cache_.Clear();
  ++num_restarts_;
  has_aborted_ = false;
  launched_at_batch_ = num_batches_;
}

}  // namespace detcheck
