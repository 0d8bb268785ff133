// detcheck run FILE: run a saved plan, or a protocol.

#include "cli/commands.h"
#include "cli/execute.h"
#include "cli/make_and_run.h"
#include "cli/plan_fit.h"
#include "cli/print.h"
#include "cli/protocol_file.h"
#include "cli/renderings.h"
#include "fixtures/file_io.h"
#include "fixtures/shard.h"

namespace detcheck {
namespace {

ExitStatus RunProtocol(const std::string& json, const Options& options, RunFiles* files,
                       const std::atomic<bool>& stop) {
  const Protocol protocol = OpenProtocol(json, options.plan_file);
  return MakeAndRun(protocol.settings, protocol.fixtures, &protocol, options, files, stop);
}

}  // namespace

ExitStatus RunFileCommand(const Options& options, const std::atomic<bool>& stop) {
  RunFiles files(options.report);
  RequireWritable(options.renderings);
  const std::string json = ReadFile(options.plan_file);
  if (IsProtocol(json)) return RunProtocol(json, options, &files, stop);
  Plan plan = PlanFromJson(json, options.plan_file);
  if (options.shard) plan = ShardOf(plan, options.shard->index, options.shard->count);
  const std::unique_ptr<TextCheck> check = MakeTextCheck(plan.criterion, stop);
  if (options.dry_run) {
    PrintResult(DescribePlan(plan));
    return ExitStatus::kPass;
  }
  Targets targets(options.target);
  RequireFits(plan, options.plan_file, targets.Facts());
  return ExecutePlan(plan, {check.get(), nullptr, nullptr}, &targets, &files, options, stop);
}

}  // namespace detcheck
