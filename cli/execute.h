#pragma once

#include <atomic>

#include "cli/exit_status.h"
#include "cli/options.h"
#include "engine/backend.h"
#include "fixtures/plan.h"

namespace detcheck {

/// Runs a plan on a target, judges what was answered, writes the report and prints the result.
/// `all_modes`: the plan's modes were not asked for one by one.
ExitStatus ExecutePlan(const Plan& plan, bool all_modes, Backend* backend, const Options& options,
                       const std::atomic<bool>& stop);

}  // namespace detcheck
