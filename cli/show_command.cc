// detcheck show REPORT: the console view, or files in other formats.

#include "cli/color.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/renderings.h"
#include "reports/console.h"
#include "reports/report.h"

namespace detcheck {

ExitStatus ShowCommand(const Options& options) {
  const RenderingPaths& paths = options.renderings;
  RequireWritable(paths);
  const Report report = ReadReport(options.file);
  if (paths.junit.empty() && paths.markdown.empty() && paths.html.empty()) {
    PrintResult(RenderConsole(report, WantsColor(options.color)));
    return ExitStatus::kPass;
  }
  return WriteRenderings(report, paths) ? ExitStatus::kPass : ExitStatus::kUnfinished;
}

}  // namespace detcheck
