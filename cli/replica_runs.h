#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/run_files.h"
#include "cli/runner.h"
#include "cli/targets.h"
#include "fixtures/plan.h"
#include "reports/replica.h"
#include "reports/transcript.h"

namespace detcheck {

/// What a run gave, of one target or of all replicas.
struct TargetRuns {
  /// An interruption before a transcript that cannot be written before a lost target before a spent
  /// budget.
  RunEnd end = RunEnd::kComplete;
  Transcript transcript;
  std::vector<Replica> replicas;  ///< Empty where there is one target.
};

/// Runs a plan on a target, or on each replica, one after the other; or goes on with an earlier
/// run. What one replica cannot do takes nothing from the others. Used once.
class RunsOfTargets {
 public:
  /// All must outlive it. Opens the files of the run. Throws Error(kInput) where an earlier run
  /// cannot be gone on with.
  RunsOfTargets(const Plan& plan, const Options& options, Targets* targets, RunFiles* files);

  /// Records that are taken over from an earlier run.
  int NumResumed() const;

  TargetRuns Run(const std::atomic<bool>& stop);

 private:
  struct Todo {
    Transcript transcript;
    std::vector<int> order;
  };

  std::string IdentityOf(const Target& target) const;
  void Begin();
  void Resume();
  void RequireRecords(const Transcript& earlier) const;
  RunEnd RunOne(int replica, double spent_s, const std::atomic<bool>& stop);

  const Plan& plan_;
  const Options& options_;
  Targets* targets_;
  RunFiles* files_;
  std::vector<Todo> todo_;  // By replica.
  std::string unrecorded_;  // Why answers cannot be recorded any more; empty: they can.
};

}  // namespace detcheck
