// detcheck merge REPORT…: put the reports of all shards of a plan together, and judge them as one.

#include <utility>

#include "cli/color.h"
#include "cli/commands.h"
#include "cli/outcome.h"
#include "cli/print.h"
#include "cli/renderings.h"
#include "cli/run_files.h"
#include "reports/console.h"
#include "reports/merge.h"

namespace detcheck {

ExitStatus MergeCommand(const Options& options) {
  RunFiles files(options.report);
  RequireWritable(options.renderings);
  std::vector<ShardReport> shards;
  for (const std::string& file : options.files) shards.push_back({file, ReadReport(file)});
  const Report report = MergeShards(std::move(shards));
  const bool is_kept = files.End(report, true);
  if (!options.quiet) PrintResult(RenderConsole(report, WantsColor(options.color)));
  const ExitStatus outcome = OutcomeOf(report.judgement, EndOf(report), options.allowed);
  const bool is_written = WriteRenderings(report, options.renderings) && is_kept;
  // A divergence tells before a file that could not be written.
  return is_written || outcome == ExitStatus::kDivergence ? outcome : ExitStatus::kUnfinished;
}

}  // namespace detcheck
