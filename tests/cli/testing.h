#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "cli/runner.h"
#include "engine/base/error.h"
#include "fixtures/modes/modes.h"
#include "fixtures/plan.h"
#include "reports/judgement.h"
#include "tests/fakes/fake_backend.h"

namespace detcheck {

/// Of the shipped fixtures, profile quick, short answers.
Plan QuickPlan(const std::vector<Mode>& modes, const FakeOptions& target,
               CriterionKind criterion = CriterionKind::kBitwise);

const std::vector<Mode>& AllModes();

/// A plan of solo samples of one short prompt, written by hand: steps are added by the test.
struct SmallPlan {
  SmallPlan();
  Step& Add(StepKind kind, Arm arm = Arm::kVaried);
  Step& AddBatch(int num_items, Arm arm = Arm::kVaried, CacheWish cache = CacheWish::kBypass);

  Plan plan;
};

/// What one run gave.
struct TestRun {
  RunEnd end = RunEnd::kComplete;
  Transcript transcript;
};

/// Runs all of a plan in memory, without pauses between attempts.
TestRun RunPlan(const Plan& plan, Backend* backend, const RunnerSettings& settings = {},
                TranscriptWriter* writer = nullptr, RunObserver* observer = nullptr);

/// Code and message of the Error that `act` throws; fails the test where it throws none.
struct Thrown {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};
Thrown ErrorOf(const std::function<void()>& act);

/// A folder of its own, removed at the end.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  std::string Path(const std::string& name) const { return path_ + '/' + name; }

 private:
  std::string path_;
};

}  // namespace detcheck
