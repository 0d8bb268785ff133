#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "engine/base/request.h"
#include "engine/embedded/ops.h"
#include "engine/embedded/scheduler_limits.h"
#include "engine/embedded/scheduler_record.h"
#include "engine/embedded/scheduler_releases.h"
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

/// Runs one batch by continuous batching. Every choice is a function of the batch, the limits and
/// the state of the pages; there is no clock in it.
///
/// Lifecycle of a request:
///   1. unreleased until its Release is due (checked before each engine step); then checked, and
///      ended with kError where it can never run;
///   2. waiting, first come first served (equally due items in item order);
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
  /// `pages`, `model.ops` and `items` must outlive the scheduler. With an observer, all rows'
  /// logits are computed.
  Scheduler(const SchedulerLimits& limits, SequencePages* pages, SchedulerModel model,
            const std::vector<BatchItem>& items, LogitObserver observer = nullptr);
  /// Releases the pages of requests that still run (where Run threw).
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Runs the batch to its end; once. `stop` and `on_token` are Backend::Complete's. Throws what
  /// the model throws.
  BatchResult Run(const std::atomic<bool>& stop, const TokenCallback& on_token);

 private:
  /// A sequence's share of a step: its next `num_tokens` tokens.
  struct Chunk {
    Sequence* seq = nullptr;
    int num_tokens = 0;
    bool decode = false;
    /// Computes the last token that the sequence has, so that the next one is drawn.
    bool draws() const { return seq->num_computed + num_tokens == seq->len(); }
  };

  void ReleaseDue();
  /// Takes a due item into the waiting queue, or ends it where it can never run.
  void Queue(int item);
  /// With nothing to run: moves on to the engine step for which the next item waits. False: none.
  bool SkipToNextRelease();

  std::vector<Chunk> PlanStep();
  void PlanDecodes(std::vector<Chunk>* chunks);
  void PlanPrefills(std::vector<Chunk>* chunks);
  bool AdmitNext();
  void Preempt(Sequence* seq);

  /// Gives the items that got a token.
  std::vector<int> RunStep(const std::vector<Chunk>& chunks);
  StepBatch MakeStepBatch(const std::vector<Chunk>& chunks) const;
  std::vector<SampledToken> Draw(const std::vector<Chunk>& chunks, const StepBatch& batch);
  void Observe(const std::vector<Chunk>& chunks);
  void RecordStep(const std::vector<Chunk>& chunks);
  /// The step has computed `chunk`; `drawn` is its next token, null where there is none yet.
  void Advance(const Chunk& chunk, const SampledToken* drawn);
  void AddToken(Sequence* seq, const SampledToken& token);

  std::optional<FinishReason> WhyFinished(const Sequence& seq) const;
  void EndRunning(Sequence* seq, FinishReason reason);
  void End(int item, FinishReason reason, std::string error);
  /// Ends whatever has not ended.
  void AbortAll();
  double Seconds() const;

  const SchedulerLimits limits_;
  SequencePages* pages_;
  const SchedulerModel model_;
  const std::vector<BatchItem>& items_;
  const LogitObserver observer_;

  std::vector<std::unique_ptr<Sequence>> sequences_;  ///< By item; null before its release.
  std::deque<Sequence*> waiting_;
  std::vector<Sequence*> running_;  ///< In order of admission.
  int64_t step_ = 0;                ///< The engine step that comes next.
  SchedulerReleases releases_;
  SchedulerRecord record_;
  std::vector<Completion> completions_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace detcheck
