#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "cli/exit_status.h"
#include "cli/options.h"
#include "cli/run_files.h"
#include "engine/backend.h"
#include "fixtures/plan.h"
#include "fixtures/protocol.h"
#include "reports/criteria/text_check.h"
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

/// What a run has beside its plan.
struct RunInputs {
  TextCheck* check = nullptr;          ///< Of the plan's criterion; null where that needs none.
  const Protocol* protocol = nullptr;  ///< That the plan was made from.
  const Report* recorded = nullptr;    ///< An earlier report of the plan.
};

/// Runs a plan on a target, judges what was answered, writes the report and prints the result. With
/// a recorded report it also says what differs from that, and a difference is a divergence.
ExitStatus ExecutePlan(const Plan& plan, const RunInputs& inputs, Target* target, RunFiles* files,
                       const Options& options, const std::atomic<bool>& stop);

}  // namespace detcheck
