// detcheck replay REPORT: run the plan kept in a report again; compare with what it recorded.

#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/execute.h"
#include "cli/plan_fit.h"
#include "cli/print.h"
#include "cli/renderings.h"
#include "engine/base/error.h"
#include "engine/remote/endpoint.h"
#include "fixtures/file_io.h"

namespace detcheck {
namespace {

std::vector<std::string> LabelsOf(const TargetOptions& target) {
  if (target.remote.endpoint.empty()) return {"the embedded engine"};
  std::vector<std::string> labels = {ParseEndpoint(target.remote.endpoint).label};
  for (const std::string& endpoint : target.replicas) {
    labels.push_back(ParseEndpoint(endpoint).label);
  }
  return labels;
}

// What each replica answered is held against what the one in its place answered then.
void RequireReplicasOf(const Report& recorded, const std::string& file,
                       const TargetOptions& target) {
  const std::vector<std::string> given = LabelsOf(target);
  std::vector<std::string> then;
  for (const Replica& replica : recorded.replicas) then.push_back(OneLine(replica.label));
  const size_t num_then = std::max<size_t>(then.size(), 1);
  if (given.size() != num_then) {
    throw Error(ErrorCode::kInput,
                num_then == 1
                    ? fmt::format("{}: is of one target, not of {} replicas: give one --endpoint",
                                  OneLine(file), given.size())
                    : fmt::format("{}: is of {} replicas ({}): give --endpoint for each of them, "
                                  "in this order",
                                  OneLine(file), num_then, fmt::join(then, ", ")));
  }
  if (num_then > 1 && given != then &&
      std::is_permutation(given.begin(), given.end(), then.begin(), then.end())) {
    throw Error(ErrorCode::kInput, fmt::format("{}: is of the same replicas in another order: {}",
                                               OneLine(file), fmt::join(then, ", ")));
  }
}

}  // namespace

ExitStatus ReplayCommand(const Options& options, const std::atomic<bool>& stop) {
  RunFiles files(options.report);
  RequireWritable(options.renderings);
  const Report recorded = ReadReport(options.file);
  const std::unique_ptr<TextCheck> check = MakeTextCheck(recorded.plan.criterion, stop);
  if (options.dry_run) {
    PrintResult(DescribePlan(recorded.plan));
    return ExitStatus::kPass;
  }
  RequireReplicasOf(recorded, options.file, options.target);
  Targets targets(options.target);
  RequireFits(recorded.plan, options.file, targets.Facts());
  return ExecutePlan(recorded.plan, {check.get(), nullptr, &recorded}, &targets, &files, options,
                     stop);
}

}  // namespace detcheck
