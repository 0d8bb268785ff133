#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/request.h"
#include "engine/embedded/ops.h"
#include "engine/embedded/scheduler_limits.h"
#include "engine/embedded/scheduler_record.h"
#include "engine/embedded/sequence.h"
#include "engine/embedded/sequence_pages.h"

namespace detcheck {

/// What the scheduler drives. `ops` holds the logits that `forward` has computed.
struct SchedulerModel {
  Ops* ops = nullptr;
  std::function<void(const StepBatch&)> forward;  ///< Computes the logits of a step's logit rows.
};

/// Told the digest (Ops::LogitDigests) of the logits at each position of an item that is computed,
/// again where it is computed again.
using LogitObserver = std::function<void(int item, int position, const std::string& logits_sha256)>;

/// What one engine step did.
struct StepOutcome {
  struct Answer {
    int item = 0;
    int num_tokens = 0;  ///< That the item has answered so far.
  };
  std::vector<EngineStepSpan::Row> rows;  ///< In batch order.
  std::vector<Answer> answers;            ///< Items that got a token, in batch order.
};

/// An item that is no longer the scheduler's, with its whole answer. Times count from the
/// scheduler's construction; there is no text.
struct EndedItem {
  int item = 0;
  Completion completion;
};

/// Continuous batching: requests are added and aborted between engine steps, and each step runs
/// whatever there is. Every choice is a function of the calls, the limits and the state of the
/// pages; there is no clock in it. Not thread-safe.
///
/// Lifecycle of a request:
///   1. added: checked, and ended with kError where it can never run;
///   2. waiting, first come first served;
///   3. admitted when fewer than max_running_requests run, prefill tokens of the step are left, and
///      its pages can be had with one more for each running request: its cached prefix is taken
///      from the radix tree, and pages for its other tokens are set apart;
///   4. prefilled in chunks: a step computes one token of each decoding request, and then at most
///      chunked_prefill_size tokens of those in prefill, in order of admission;
///   5. decoding from the step that computes its last known token: that step and each later one
///      gives it a token. Its whole pages go to the radix tree when prefill ends;
///   6. preempted, if it is the one admitted last when a decoding request finds no page: its pages
///      are released and it goes to the head of the waiting queue with the tokens it has
///      generated, which are prefilled like prompt tokens when it is admitted again;
///   7. ended: its whole pages go to the radix tree, the others become free.
class Scheduler {
 public:
  /// `pages` and `model.ops` must outlive the scheduler. With an observer, all rows' logits are
  /// computed.
  Scheduler(const SchedulerLimits& limits, SequencePages* pages, SchedulerModel model,
            LogitObserver observer = nullptr);
  /// Releases the pages of requests that still run.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Takes a request under the caller's number for it, which none that has not ended may have.
  /// `request` must outlive its end. It is cancelled once it has answered `abort_after_tokens`.
  void Add(int item, const Request* request, std::optional<int> abort_after_tokens = std::nullopt);

  /// Cancels an item that has not ended; others are let alone.
  void Abort(int item);
  void AbortAll();

  /// Runs one engine step; nothing where there is nothing to run. Throws what the model throws.
  std::optional<StepOutcome> Step();

  /// Items that have ended since the last call, in the order of their ends.
  std::vector<EndedItem> TakeEnded() { return std::exchange(ended_, {}); }

  /// The answer so far of an item that has not ended: token IDs, logprobs and times.
  const Completion& completion(int item) const { return live_.at(item).completion; }

  int num_running() const { return static_cast<int>(running_.size()); }
  int num_waiting() const { return static_cast<int>(waiting_.size()); }

 private:
  /// An item that has not ended.
  struct Live {
    Sequence seq;
    Completion completion;
    std::optional<int> abort_after_tokens;
  };

  /// A sequence's share of a step: its next `num_tokens` tokens.
  struct Chunk {
    Sequence* seq = nullptr;
    int num_tokens = 0;
    bool decode = false;
    /// Computes the last token that the sequence has, so that the next one is drawn.
    bool draws() const { return seq->num_computed + num_tokens == seq->len(); }
  };

  std::vector<Chunk> PlanStep();
  void PlanDecodes(std::vector<Chunk>* chunks);
  void PlanPrefills(std::vector<Chunk>* chunks);
  bool AdmitNext();
  void Preempt(Sequence* seq);

  StepOutcome RunStep(const std::vector<Chunk>& chunks);
  StepBatch MakeStepBatch(const std::vector<Chunk>& chunks) const;
  std::vector<SampledToken> Draw(const std::vector<Chunk>& chunks, const StepBatch& batch);
  void Observe(const std::vector<Chunk>& chunks);
  std::vector<EngineStepSpan::Row> RecordStep(const std::vector<Chunk>& chunks);
  /// The step has computed `chunk`; `drawn` is its next token, null where there is none yet.
  void Advance(const Chunk& chunk, const SampledToken* drawn);
  void AddToken(Sequence* seq, const SampledToken& token);

  std::optional<FinishReason> WhyFinished(const Live& live) const;
  void EndRunning(Sequence* seq, FinishReason reason);
  void End(int item, FinishReason reason, std::string error);
  double Seconds() const;

  const SchedulerLimits limits_;
  SequencePages* pages_;
  const SchedulerModel model_;
  const LogitObserver observer_;
  const std::chrono::steady_clock::time_point start_;

  std::map<int, Live> live_;  ///< By item.
  std::deque<Sequence*> waiting_;
  std::vector<Sequence*> running_;  ///< In order of admission.
  SchedulerRecord record_;
  std::vector<EndedItem> ended_;
};

}  // namespace detcheck
