#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "cli/exit_status.h"
#include "cli/options.h"
#include "cli/run_files.h"
#include "engine/backend.h"
#include "fixtures/plan.h"
#include "reports/manifest_fields.h"
#include "reports/report.h"

namespace detcheck {

/// What is to be tested, started.
struct Target {
  explicit Target(const TargetOptions& options) : backend(MakeBackend(options, &choice)) {
    description = backend->Describe();
    description.subject = WithUnknownFields(description.subject);
  }

  std::string choice;  ///< Why this engine; empty where it was asked for by name.
  std::unique_ptr<Backend> backend;
  Description description;
};

/// Runs a plan on a target, judges what was answered, writes the report and prints the result.
/// `all_modes`: the plan's modes were not asked for one by one. With `recorded`, an earlier report
/// of the plan, it also says what differs from that, and a difference is a divergence.
ExitStatus ExecutePlan(const Plan& plan, bool all_modes, Target* target, RunFiles* files,
                       const Options& options, const std::atomic<bool>& stop,
                       const Report* recorded = nullptr);

}  // namespace detcheck
