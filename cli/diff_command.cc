// detcheck diff A B: what changed from one report to another.

#include "cli/commands.h"
#include "cli/print.h"
#include "engine/base/error.h"
#include "reports/diff.h"
#include "reports/report.h"

namespace detcheck {

ExitStatus DiffCommand(const Options& options) {
  const Report a = ReadReport(options.files.at(0));
  const Report b = ReadReport(options.files.at(1));
  const ReportDiff diff = DiffReports(a, b, options.compare_changed_requests);
  if (!diff.SamePrompts() && !options.allow_different_prompts) {
    throw Error(ErrorCode::kInput, DifferentPromptsInWords(diff));
  }
  PrintResult(RenderDiff(diff));
  return diff.Differ() ? ExitStatus::kDivergence : ExitStatus::kPass;
}

}  // namespace detcheck
