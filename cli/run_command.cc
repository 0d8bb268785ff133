// detcheck run FILE: run a saved plan.

#include "cli/commands.h"
#include "cli/execute.h"
#include "cli/plan_fit.h"
#include "cli/print.h"
#include "cli/renderings.h"
#include "fixtures/file_io.h"

namespace detcheck {

ExitStatus RunPlanCommand(const Options& options, const std::atomic<bool>& stop) {
  RunFiles files(options.report);
  RequireWritable(options.renderings);
  const Plan plan = PlanFromJson(ReadFile(options.plan_file), options.plan_file);
  if (options.dry_run) {
    PrintResult(DescribePlan(plan));
    return ExitStatus::kPass;
  }
  Target target(options.target);
  RequireFits(plan, options.plan_file, target.description.facts);
  return ExecutePlan(plan, /*all_modes=*/true, &target, &files, options, stop);
}

}  // namespace detcheck
