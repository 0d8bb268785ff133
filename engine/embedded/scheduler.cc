#include "engine/embedded/scheduler.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"

namespace detcheck {

Scheduler::Scheduler(const SchedulerLimits& limits, SequencePages* pages, SchedulerModel model,
                     LogitObserver observer)
    : limits_(limits),
      pages_(pages),
      model_(std::move(model)),
      observer_(std::move(observer)),
      start_(std::chrono::steady_clock::now()) {}

Scheduler::~Scheduler() {
  for (Sequence* seq : running_) pages_->Release(seq);
}

// --- requests come and go -----------------------------------------------------------------------

void Scheduler::Add(int item, const Request* request, std::optional<int> abort_after_tokens) {
  const auto [entry, is_new] = live_.try_emplace(item);
  if (!is_new) {
    throw Error(ErrorCode::kInternal, "scheduler: item " + std::to_string(item) + " added twice");
  }
  Live& live = entry->second;
  live.abort_after_tokens = abort_after_tokens;
  live.completion.times.sent = Seconds();
  Sequence& seq = live.seq;
  seq.item = item;
  seq.request = request;
  record_.Begin(item);
  if (request->max_new_tokens < 1) {
    End(item, FinishReason::kError,
        "max_new_tokens is " + std::to_string(request->max_new_tokens) + ", at least 1 is needed");
    return;
  }
  if (auto why = WhyImpossible(request->prompt_ids, request->max_new_tokens, limits_, *pages_)) {
    End(item, FinishReason::kError, *std::move(why));
    return;
  }
  seq.ids = request->prompt_ids;
  seq.uses_cache = pages_->radix_cache() && request->cache == CacheWish::kAllow;
  waiting_.push_back(&seq);
}

void Scheduler::Abort(int item) {
  Sequence* seq = &live_.at(item).seq;
  if (std::find(running_.begin(), running_.end(), seq) != running_.end()) {
    EndRunning(seq, FinishReason::kAbort);
    return;
  }
  waiting_.erase(std::find(waiting_.begin(), waiting_.end(), seq));
  End(item, FinishReason::kAbort, "");
}

void Scheduler::AbortAll() {
  while (!running_.empty()) EndRunning(running_.back(), FinishReason::kAbort);
  while (!waiting_.empty()) Abort(waiting_.front()->item);
}

std::optional<StepOutcome> Scheduler::Step() {
  const std::vector<Chunk> chunks = PlanStep();
  if (!chunks.empty()) return RunStep(chunks);
  if (!waiting_.empty()) {
    throw Error(ErrorCode::kInternal, "scheduler: nothing runs and the next request does not fit");
  }
  return std::nullopt;
}

// --- what the next step computes ----------------------------------------------------------------

std::vector<Scheduler::Chunk> Scheduler::PlanStep() {
  std::vector<Chunk> chunks;
  PlanDecodes(&chunks);
  PlanPrefills(&chunks);
  return chunks;
}

void Scheduler::PlanDecodes(std::vector<Chunk>* chunks) {
  for (size_t i = 0; i < running_.size(); ++i) {
    Sequence* seq = running_[i];
    if (!seq->decoding) continue;
    bool has_page = pages_->Extend(seq);
    while (!has_page && i < running_.size()) {
      Preempt(running_.back());
      has_page = i < running_.size() && pages_->Extend(seq);
    }
    if (has_page) chunks->push_back({.seq = seq, .num_tokens = 1, .decode = true});
  }
}

void Scheduler::PlanPrefills(std::vector<Chunk>* chunks) {
  int budget = limits_.chunked_prefill_size;
  for (size_t i = 0; budget > 0; ++i) {
    if (i == running_.size() && !AdmitNext()) break;
    Sequence* seq = running_[i];
    if (seq->decoding) continue;
    const int num_tokens = std::min(budget, seq->len() - seq->num_computed);
    chunks->push_back({.seq = seq, .num_tokens = num_tokens, .decode = false});
    budget -= num_tokens;
  }
}

bool Scheduler::AdmitNext() {
  const auto num_running = static_cast<int>(running_.size());
  if (waiting_.empty() || num_running >= limits_.max_running_requests) return false;
  Sequence* seq = waiting_.front();
  if (!pages_->Admit(seq, /*reserve=*/num_running)) return false;
  waiting_.pop_front();
  running_.push_back(seq);
  Witness& witness = record_.witness(seq->item);
  if (!witness.cached_tokens) {
    witness.cached_tokens = seq->num_computed;
    witness.preemptions = 0;
  }
  return true;
}

void Scheduler::Preempt(Sequence* seq) {
  running_.pop_back();
  pages_->Release(seq);
  seq->decoding = false;
  waiting_.push_front(seq);
  Witness& witness = record_.witness(seq->item);
  ++*witness.preemptions;
  if (seq->num_generated() == 0) witness.chunk_ends.clear();  // Its prefill begins again.
}

// --- running it ---------------------------------------------------------------------------------

StepOutcome Scheduler::RunStep(const std::vector<Chunk>& chunks) {
  const StepBatch batch = MakeStepBatch(chunks);
  model_.forward(batch);
  const std::vector<SampledToken> drawn = Draw(chunks, batch);
  if (observer_) Observe(chunks);
  StepOutcome outcome{.rows = RecordStep(chunks), .answers = {}};
  for (const Chunk& chunk : chunks) {
    const int item = chunk.seq->item;
    if (chunk.draws()) {
      const size_t index = outcome.answers.size();
      outcome.answers.push_back({item, chunk.seq->num_generated() + 1});
      Advance(chunk, &drawn[index]);
    } else {
      Advance(chunk, nullptr);
    }
  }
  return outcome;
}

StepBatch Scheduler::MakeStepBatch(const std::vector<Chunk>& chunks) const {
  StepBatch batch;
  for (const Chunk& chunk : chunks) {
    const int first_row = batch.num_rows();
    AppendToStep(*chunk.seq, chunk.num_tokens, &batch);
    const int num_rows = batch.num_rows();
    int row = observer_ ? first_row : chunk.draws() ? num_rows - 1 : num_rows;
    for (; row < num_rows; ++row) batch.logit_rows.push_back(row);
  }
  return batch;
}

std::vector<SampledToken> Scheduler::Draw(const std::vector<Chunk>& chunks,
                                          const StepBatch& batch) {
  if (batch.logit_rows.empty()) return {};
  std::vector<RowSampling> rows;
  std::vector<size_t> drawing_rows;
  for (const Chunk& chunk : chunks) {
    if (observer_) rows.resize(rows.size() + chunk.num_tokens - (chunk.draws() ? 1 : 0));
    if (!chunk.draws()) continue;
    const Request& request = *chunk.seq->request;
    drawing_rows.push_back(rows.size());
    rows.push_back({.sampling = request.sampling,
                    .position = chunk.seq->len(),
                    .num_top = request.top_logprobs.value_or(-1)});
  }
  std::vector<SampledToken> all = model_.ops->Sample(rows);
  std::vector<SampledToken> drawn;
  for (const size_t row : drawing_rows) drawn.push_back(std::move(all[row]));
  return drawn;
}

void Scheduler::Observe(const std::vector<Chunk>& chunks) {
  const std::vector<std::string> digests = model_.ops->LogitDigests();
  size_t row = 0;
  for (const Chunk& chunk : chunks) {
    for (int i = 0; i < chunk.num_tokens; ++i) {
      observer_(chunk.seq->item, chunk.seq->num_computed + i, digests[row++]);
    }
  }
}

std::vector<EngineStepSpan::Row> Scheduler::RecordStep(const std::vector<Chunk>& chunks) {
  std::vector<EngineStepSpan::Row> rows;
  for (const Chunk& chunk : chunks) {
    rows.push_back(
        {.item = chunk.seq->item, .num_tokens = chunk.num_tokens, .decode = chunk.decode});
    if (!chunk.draws() && chunk.seq->num_generated() == 0) {
      record_.witness(chunk.seq->item)
          .chunk_ends.push_back(chunk.seq->num_computed + chunk.num_tokens);
    }
  }
  record_.AddStep(rows);
  return rows;
}

void Scheduler::Advance(const Chunk& chunk, const SampledToken* drawn) {
  Sequence* seq = chunk.seq;
  seq->num_computed += chunk.num_tokens;
  if (drawn == nullptr) return;
  if (!seq->decoding) pages_->Publish(seq);
  seq->decoding = true;
  AddToken(seq, *drawn);
}

void Scheduler::AddToken(Sequence* seq, const SampledToken& token) {
  Live& live = live_.at(seq->item);
  Completion& completion = live.completion;
  completion.token_ids.push_back(token.id);
  if (seq->request->top_logprobs) completion.logprobs.push_back(token.logprob);
  completion.times.last_token = Seconds();
  if (seq->num_generated() == 0) completion.times.first_token = completion.times.last_token;
  seq->ids.push_back(token.id);
  if (const auto reason = WhyFinished(live)) EndRunning(seq, *reason);
}

// --- the end ------------------------------------------------------------------------------------

std::optional<FinishReason> Scheduler::WhyFinished(const Live& live) const {
  const Sequence& seq = live.seq;
  const auto& eos = limits_.eos_ids;
  const bool is_eos = std::find(eos.begin(), eos.end(), seq.ids.back()) != eos.end();
  if (is_eos && !seq.request->ignore_eos) return FinishReason::kStop;
  if (seq.num_generated() >= seq.request->max_new_tokens) return FinishReason::kLength;
  const auto& abort_after = live.abort_after_tokens;
  if (abort_after && seq.num_generated() >= *abort_after) return FinishReason::kAbort;
  return std::nullopt;
}

void Scheduler::EndRunning(Sequence* seq, FinishReason reason) {
  running_.erase(std::find(running_.begin(), running_.end(), seq));
  pages_->Publish(seq);
  pages_->Release(seq);
  End(seq->item, reason, "");
}

void Scheduler::End(int item, FinishReason reason, std::string error) {
  Live& live = live_.at(item);
  Completion& completion = live.completion;
  completion.finish_reason = reason;
  completion.error = std::move(error);
  completion.prompt_tokens = live.seq.prompt_len();
  completion.witness = record_.End(item);
  ended_.push_back({item, std::move(completion)});
  live_.erase(item);
}

double Scheduler::Seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

}  // namespace detcheck
