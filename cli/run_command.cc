// detcheck run FILE: run a saved plan.

#include "cli/commands.h"
#include "cli/execute.h"
#include "cli/print.h"
#include "cli/target.h"
#include "fixtures/file_io.h"

namespace detcheck {

ExitStatus RunPlanCommand(const Options& options, const std::atomic<bool>& stop) {
  const Plan plan = PlanFromJson(ReadFile(options.plan_file), options.plan_file);
  if (options.dry_run) {
    PrintResult(DescribePlan(plan));
    return ExitStatus::kPass;
  }
  const std::unique_ptr<Backend> backend = StartTarget(options);
  RequireFits(plan, options.plan_file, backend->Describe().facts);
  return ExecutePlan(plan, /*all_modes=*/true, backend.get(), options, stop);
}

}  // namespace detcheck
