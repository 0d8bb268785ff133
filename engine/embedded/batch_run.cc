#include "engine/embedded/batch_run.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "engine/embedded/scheduler_record.h"
#include "engine/embedded/scheduler_releases.h"

namespace detcheck {
namespace {

class BatchRun {
 public:
  BatchRun(Scheduler* scheduler, const std::vector<BatchItem>& items)
      : scheduler_(scheduler), items_(items), releases_(items), completions_(items.size()) {}

  BatchResult Run(const std::atomic<bool>& stop, const TokenCallback& on_token) {
    while (!stop) {
      ReleaseDue();
      const std::optional<StepOutcome> outcome = scheduler_->Step();
      if (outcome) {
        Count(*outcome);
        for (const auto& [item, num_tokens] : outcome->answers) {
          if (on_token) on_token(item, num_tokens);
        }
      } else if (!SkipToNextRelease()) {
        break;
      }
    }
    if (stop) {
      scheduler_->AbortAll();
      KeepEnded();
      EndRest(FinishReason::kAbort, "");
    } else {
      EndRest(FinishReason::kError, "its release waits for an item that is never released");
    }
    return {.completions = std::move(completions_), .steps = spans_.spans()};
  }

 private:
  void ReleaseDue() {
    for (auto due = releases_.TakeDue(step_); !due.empty(); due = releases_.TakeDue(step_)) {
      for (const int item : due) {
        scheduler_->Add(item, &items_[item].request, items_[item].abort_after_tokens);
        KeepEnded();
      }
    }
  }

  /// With nothing to run: moves on to the engine step for which the next item waits. False: none.
  bool SkipToNextRelease() {
    const auto next = releases_.NextStep();
    if (next) step_ = std::max(step_, *next);
    return next.has_value();
  }

  void Count(const StepOutcome& outcome) {
    spans_.Add(step_++, outcome.rows);
    for (const auto& answer : outcome.answers) releases_.CountToken(answer.item);
    KeepEnded();
  }

  void KeepEnded() {
    for (EndedItem& ended : scheduler_->TakeEnded()) {
      completions_[ended.item] = std::move(ended.completion);
      releases_.MarkEnded(ended.item);
    }
  }

  /// Ends the items that were never released.
  void EndRest(FinishReason reason, const std::string& error) {
    for (const int item : releases_.TakeRest()) {
      Completion& completion = completions_[item];
      completion.finish_reason = reason;
      completion.error = error;
      completion.prompt_tokens = static_cast<int>(items_[item].request.prompt_ids.size());
      completion.witness.source = WitnessSource::kEngine;
    }
  }

  Scheduler* scheduler_;
  const std::vector<BatchItem>& items_;
  SchedulerReleases releases_;
  StepSpans spans_;
  std::vector<Completion> completions_;
  int64_t step_ = 0;  ///< The engine step that comes next.
};

}  // namespace

BatchResult RunBatch(Scheduler* scheduler, const std::vector<BatchItem>& items,
                     const std::atomic<bool>& stop, const TokenCallback& on_token) {
  return BatchRun(scheduler, items).Run(stop, on_token);
}

}  // namespace detcheck
