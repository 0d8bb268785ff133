// detcheck replay REPORT: run the plan kept in a report again; compare with what it recorded.

#include "cli/commands.h"
#include "cli/execute.h"
#include "cli/plan_fit.h"
#include "cli/print.h"
#include "cli/renderings.h"

namespace detcheck {

ExitStatus ReplayCommand(const Options& options, const std::atomic<bool>& stop) {
  RunFiles files(options.report);
  RequireWritable(options.renderings);
  const Report recorded = ReadReport(options.file);
  const std::unique_ptr<TextCheck> check = MakeTextCheck(recorded.plan.criterion, stop);
  if (options.dry_run) {
    PrintResult(DescribePlan(recorded.plan));
    return ExitStatus::kPass;
  }
  Targets targets(options.target);
  RequireFits(recorded.plan, options.file, targets.Facts());
  return ExecutePlan(recorded.plan, {check.get(), nullptr, &recorded}, &targets, &files, options,
                     stop);
}

}  // namespace detcheck
