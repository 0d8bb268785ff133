#pragma once

#include <atomic>

#include "cli/exit_status.h"
#include "cli/options.h"
#include "cli/run_files.h"
#include "cli/targets.h"
#include "fixtures/plan.h"
#include "fixtures/protocol.h"
#include "reports/criteria/text_check.h"
#include "reports/report.h"

namespace detcheck {

/// What a run has beside its plan.
struct RunInputs {
  TextCheck* check = nullptr;          ///< Of the plan's criterion; null where that needs none.
  const Protocol* protocol = nullptr;  ///< That the plan was made from.
  const Report* recorded = nullptr;    ///< An earlier report of the plan.
};

/// Runs a plan on a target, or on one replica after another, judges what was answered, writes the
/// report and prints the result. With a recorded report it also says what differs from that, and a
/// difference is a divergence.
ExitStatus ExecutePlan(const Plan& plan, const RunInputs& inputs, Targets* targets, RunFiles* files,
                       const Options& options, const std::atomic<bool>& stop);

}  // namespace detcheck
