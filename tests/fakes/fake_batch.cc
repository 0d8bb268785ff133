#include "tests/fakes/fake_batch.h"

#include <algorithm>

namespace detcheck {
namespace {

// Prefixes that two unrelated prompts would not share by chance.
constexpr size_t kTellingPrefix = 8;
// What an engine step takes, and each prompt token in it.
constexpr double kStepSeconds = 1e-3;
constexpr double kPrefillSeconds = 1e-5;

int Len(const std::vector<TokenId>& ids) {
  return static_cast<int>(ids.size());
}

}  // namespace

FakeBatch::FakeBatch(const FakeOptions& options, const std::vector<BatchItem>& items, uint64_t salt,
                     FakeCache* cache)
    : options_(options),
      items_(items),
      cache_(cache),
      model_(options.vocab_size),
      sequences_(items.size()) {
  result_.completions.resize(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    sequences_[i].tokens = items[i].request.prompt_ids;
    sequences_[i].salt = salt;
    sequences_[i].hash = FakeModel::Start();
    for (const TokenId id : sequences_[i].tokens) {
      sequences_[i].hash = FakeModel::Extend(sequences_[i].hash, id);
    }
    result_.completions[i].prompt_tokens = Len(items[i].request.prompt_ids);
  }
}

BatchResult FakeBatch::Run(const std::atomic<bool>& stop, const TokenCallback& on_token) {
  const auto has_ended = [](const Sequence& s) { return s.state == Sequence::State::kEnded; };
  while (!std::all_of(sequences_.begin(), sequences_.end(), has_ended)) {
    if (stop) {
      for (size_t i = 0; i < items_.size(); ++i) {
        if (!has_ended(sequences_[i])) Leave(static_cast<int>(i), FinishReason::kAbort);
      }
      break;
    }
    Admit();
    NoteStep(Compose());
    Advance(on_token);
    ++step_;
  }
  return std::move(result_);
}

bool FakeBatch::IsReleased(int item) const {
  const Release& release = items_[item].release;
  switch (release.kind) {
    case Release::Kind::kAtOnce:
      return true;
    case Release::Kind::kAtEngineStep:
      return step_ >= release.count;
    case Release::Kind::kAfterTokens:
      return sequences_[release.item].state == Sequence::State::kEnded ||
             Len(result_.completions[release.item].token_ids) >= release.count;
  }
  return true;
}

void FakeBatch::Admit() {
  const int most = options_.fault == Fault::kSerialised ? 1 : options_.max_running_requests;
  auto num_running = std::count_if(sequences_.begin(), sequences_.end(), [](const Sequence& s) {
    return s.state == Sequence::State::kRunning;
  });
  for (size_t i = 0; i < items_.size() && num_running < most; ++i) {
    Sequence& sequence = sequences_[i];
    if (sequence.state != Sequence::State::kWaiting || !IsReleased(static_cast<int>(i))) continue;
    sequence.state = Sequence::State::kRunning;
    sequence.admitted_at = step_;
    result_.completions[i].times.sent = now_s_;
    ++num_running;
    const Request& request = items_[i].request;
    if (request.cache == CacheWish::kAllow && options_.fault != Fault::kCacheNeverHits) {
      sequence.num_computed = cache_->Match(request.prompt_ids);
    }
    result_.completions[i].witness.cached_tokens =
        options_.fault == Fault::kCachedCountLies ? 0 : sequence.num_computed;
  }
}

bool FakeBatch::IsDecoding(int item) const {
  const Sequence& sequence = sequences_[item];
  return sequence.state == Sequence::State::kRunning &&
         sequence.num_computed >= Len(items_[item].request.prompt_ids);
}

int FakeBatch::Compose() {
  int num_rows = 0;
  int budget = options_.chunk_size;
  for (size_t i = 0; i < items_.size(); ++i) {
    Sequence& sequence = sequences_[i];
    sequence.now = 0;
    if (sequence.state != Sequence::State::kRunning) continue;
    if (IsDecoding(static_cast<int>(i))) {
      sequence.now = 1;
    } else {
      const int left = Len(items_[i].request.prompt_ids) - sequence.num_computed;
      sequence.now = std::min(left, budget);
      budget -= sequence.now;
    }
    if (sequence.now > 0) ++num_rows;
  }
  return num_rows;
}

void FakeBatch::NoteStep(int num_rows) {
  EngineStepSpan span;
  span.first_step = step_;
  span.num_steps = 1;
  int num_prefill = 0;
  for (size_t i = 0; i < items_.size(); ++i) {
    const bool decode = IsDecoding(static_cast<int>(i));
    if (sequences_[i].now == 0) continue;
    span.rows.push_back({static_cast<int>(i), sequences_[i].now, decode});
    if (!decode) num_prefill += sequences_[i].now;
  }
  for (size_t slot = 0; slot < span.rows.size(); ++slot) {
    const int item = span.rows[slot].item;
    NoteWitness(item, static_cast<int>(slot), num_rows, num_prefill);
    Strike(item, static_cast<int>(slot), num_rows);
  }
  if (options_.fault == Fault::kNoBatchWitness) return;
  if (!result_.steps.empty() && result_.steps.back().rows == span.rows) {
    ++result_.steps.back().num_steps;
  } else {
    result_.steps.push_back(std::move(span));
  }
}

void FakeBatch::NoteWitness(int item, int slot, int num_rows, int num_prefill) {
  Witness& witness = result_.completions[item].witness;
  witness.source = WitnessSource::kServer;
  if (options_.fault == Fault::kNoBatchWitness) return;
  witness.source = WitnessSource::kEngine;
  witness.formed_size = std::max(witness.formed_size.value_or(0), num_rows);
  if (!witness.slot) witness.slot = slot;
  witness.interleaved_prefill_tokens = 0;
  witness.preemptions = 0;
  const int same_step = IsDecoding(item) ? num_prefill : 0;
  witness.same_step_prefill_tokens =
      std::max(witness.same_step_prefill_tokens.value_or(0), same_step);
  const Sequence& sequence = sequences_[item];
  const int end = sequence.num_computed + sequence.now;
  if (end < Len(items_[item].request.prompt_ids)) witness.chunk_ends.push_back(end);
}

void FakeBatch::Strike(int item, int slot, int num_rows) {
  if (sequences_[item].salt == 0 && FaultStrikes(item, slot, num_rows)) {
    sequences_[item].salt = 0xFA01;
  }
}

bool FakeBatch::FaultStrikes(int item, int slot, int num_rows) const {
  const Request& request = items_[item].request;
  const bool cached = result_.completions[item].witness.cached_tokens.value_or(0) > 0;
  switch (options_.fault) {
    case Fault::kCopies:
      return std::count_if(items_.begin(), items_.end(), [&](const BatchItem& other) {
               return other.request.prompt_ids == request.prompt_ids;
             }) > 4;
    case Fault::kBatchSize:
    case Fault::kLogprobDrift:
      return num_rows > 1;
    case Fault::kNeighbours:
      return OtherPromptStartedWith(item);
    case Fault::kItemIndex:
      return slot > 0 && OtherPromptStartedWith(item);
    case Fault::kNeighbourPrefill:
      return IsDecoding(item) && LaterPromptPrefills(item);
    case Fault::kSharedPrefix:
      return SharesPrefix(item, kTellingPrefix);
    case Fault::kCachedAlone:
      return cached && items_.size() == 1;
    case Fault::kCachedTokens:
      return cached;
    case Fault::kNeighbourTopK:
      return request.sampling.temperature == 0.8 &&
             std::any_of(items_.begin(), items_.end(),
                         [](const BatchItem& other) { return other.request.sampling.top_k >= 1; });
    case Fault::kAskedTracing:
      return request.top_logprobs.has_value();
    default:
      return false;
  }
}

bool FakeBatch::OtherPromptStartedWith(int item) const {
  for (size_t i = 0; i < items_.size(); ++i) {
    const bool together = sequences_[i].admitted_at == sequences_[item].admitted_at;
    if (together && sequences_[i].tokens[0] != sequences_[item].tokens[0]) return true;
  }
  return false;
}

bool FakeBatch::LaterPromptPrefills(int item) const {
  for (size_t i = 0; i < items_.size(); ++i) {
    const bool later = sequences_[i].admitted_at > sequences_[item].admitted_at;
    const bool prefills = sequences_[i].now > 0 && !IsDecoding(static_cast<int>(i));
    const bool other = sequences_[i].tokens[0] != sequences_[item].tokens[0];
    if (later && prefills && other) return true;
  }
  return false;
}

bool FakeBatch::SharesPrefix(int item, size_t len) const {
  const std::vector<TokenId>& mine = items_[item].request.prompt_ids;
  for (const BatchItem& other : items_) {
    const std::vector<TokenId>& theirs = other.request.prompt_ids;
    if (mine == theirs || std::min(mine.size(), theirs.size()) < len) continue;
    if (std::equal(mine.begin(), mine.begin() + static_cast<int>(len), theirs.begin())) return true;
  }
  return false;
}

void FakeBatch::Advance(const TokenCallback& on_token) {
  now_s_ += kStepSeconds;
  for (size_t i = 0; i < items_.size(); ++i) {
    if (!IsDecoding(static_cast<int>(i))) now_s_ += kPrefillSeconds * sequences_[i].now;
  }
  for (size_t i = 0; i < items_.size(); ++i) {
    Sequence& sequence = sequences_[i];
    if (sequence.now == 0) continue;
    sequence.num_computed += sequence.now;
    if (IsDecoding(static_cast<int>(i))) Answer(static_cast<int>(i), on_token);
  }
}

void FakeBatch::Answer(int item, const TokenCallback& on_token) {
  Sequence& sequence = sequences_[item];
  const Request& request = items_[item].request;
  Completion& completion = result_.completions[item];
  const bool drifts_only = options_.fault == Fault::kLogprobDrift;
  Sampling sampling = request.sampling;
  if (options_.fault == Fault::kSeedIgnored) sampling.seed = 0;
  FakeModel::Next next =
      model_.Choose(sequence.hash, drifts_only ? 0 : sequence.salt, Len(sequence.tokens), sampling,
                    request.top_logprobs.value_or(0));
  if (drifts_only && sequence.salt != 0) next.logprob.logprob *= 1.0 + 0x1p-20;
  if (request.top_logprobs) completion.logprobs.push_back(std::move(next.logprob));
  completion.token_ids.push_back(next.id);
  completion.times.last_token = now_s_;
  if (completion.token_ids.size() == 1) completion.times.first_token = now_s_;
  sequence.tokens.push_back(next.id);
  sequence.hash = FakeModel::Extend(sequence.hash, next.id);
  if (on_token) on_token(item, Len(completion.token_ids));
  EndIfDone(item);
}

void FakeBatch::EndIfDone(int item) {
  const int num_answered = Len(result_.completions[item].token_ids);
  if (items_[item].abort_after_tokens == num_answered) {
    Leave(item, FinishReason::kAbort);
  } else if (num_answered == items_[item].request.max_new_tokens) {
    Leave(item, FinishReason::kLength);
  } else if (num_answered == 1 && items_[item].request.cache == CacheWish::kAllow) {
    cache_->Insert(sequences_[item].tokens, sequences_[item].num_computed);
  }
}

void FakeBatch::Leave(int item, FinishReason reason) {
  Sequence& sequence = sequences_[item];
  sequence.state = Sequence::State::kEnded;
  sequence.now = 0;
  result_.completions[item].finish_reason = reason;
  if (items_[item].request.cache == CacheWish::kAllow) {
    cache_->Insert(sequence.tokens, sequence.num_computed);
  }
}

}  // namespace detcheck
