#pragma once

#include <vector>

#include "cli/exit_status.h"
#include "cli/options.h"
#include "cli/runner.h"
#include "reports/report.h"

namespace detcheck {

/// How the process exits after a run. An interruption tells before all else; then a divergence over
/// an infrastructure error over what is inconclusive. Only modes that decide are heard.
ExitStatus OutcomeOf(const Judgement& judgement, RunEnd end,
                     const std::vector<AllowedInconclusive>& allowed);

/// How the run ended that a report is of, as far as the exit code goes.
RunEnd EndOf(const Report& report);

}  // namespace detcheck
