#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "cli/prompts.h"
#include "engine/backend.h"
#include "engine/base/error.h"
#include "fixtures/plan.h"
#include "reports/transcript.h"

namespace detcheck {

struct RunnerSettings {
  int step_attempts = 3;       ///< Attempts at one step, the first included; >= 1.
  double budget_s = 0.0;       ///< No step begins after this many seconds; 0: no limit.
  double spent_s = 0.0;        ///< Of the budget, before this run (on other replicas).
  int replica = 0;             ///< Of several targets, which this one is.
  double retry_pause_s = 0.5;  ///< Before a step is attempted again after the target failed.
};

/// How a run ended.
enum class RunEnd {
  kComplete,     ///< Every step was run to its end, or to its last attempt.
  kInterrupted,  ///< The user asked to stop.
  kBudget,
  kTargetLost,  ///< The device failed, or the target failed again and again.
  kUnrecorded,  ///< An answer could not be written to the transcript: the disk is full, say.
};

/// Told what happens while a plan runs.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void OnStepStarted(int step) = 0;
  /// `num_tokens` in all that the items of the current step have answered so far.
  virtual void OnTokens(int num_tokens) = 0;
  virtual void OnStepEnded(int step) = 0;
};

/// Executes a plan on a target, step by step; used once.
///
/// An attempt is voided, for reasons decided without looking at its outputs, where the target
/// failed, refused, or did not show the step's evidence. A voided step is run again whole, after
/// the flushes and preparations just before it. All attempts are kept.
class Runner {
 public:
  /// All must outlive the runner. `writer` gets each record as it comes; it and `observer` may be
  /// null. `transcript` has its plan digest and identity, and the records of an earlier run that is
  /// gone on with.
  Runner(const Plan& plan, Backend* backend, const RunnerSettings& settings,
         const std::atomic<bool>& stop, TranscriptWriter* writer, RunObserver* observer,
         Transcript* transcript);

  /// Runs the steps `order` (indices into plan.steps) and adds their records to the transcript.
  RunEnd Run(const std::vector<int>& order);

 private:
  enum class Outcome { kCounted, kVoided, kHopeless };  // kHopeless: another attempt is no use

  bool MustEnd();
  void RunStep(int step);
  void RunPreparations(int step);
  Outcome Attempt(int step);
  void Execute(const Step& step, StepRecord* record);
  void ExecuteBatch(const Step& step, StepRecord* record);
  void Wait(double seconds) const;
  Outcome NoteError(const Error& error, StepRecord* record);
  void Append(StepRecord record);
  void Write(const StepRecord& record);
  void End(RunEnd end, const std::string& why);
  void ReadIdentityAgain();
  double Seconds() const;

  const Plan& plan_;
  Backend* backend_;
  const RunnerSettings settings_;
  const std::atomic<bool>& stop_;
  TranscriptWriter* writer_;
  RunObserver* observer_;
  Transcript* transcript_;
  PromptResolver prompts_;
  std::vector<int> num_attempts_;  // by step
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  double earlier_s_ = 0.0;  // run time of the records that were there already
  int launch_ = 0;
  int num_failures_ = 0;  // of the target, in a row
  RunEnd end_ = RunEnd::kComplete;
};

}  // namespace detcheck
