// detcheck single|batch|…|all: make a plan, and run it.

#include "cli/commands.h"
#include "cli/make_and_run.h"
#include "cli/renderings.h"

namespace detcheck {

ExitStatus RunModesCommand(const Options& options, const std::atomic<bool>& stop) {
  RunFiles files(options.report);
  RequireWritable(options.renderings);
  ModeSettings settings = options.settings;
  settings.criterion = WithSchema(settings.criterion, "");
  return MakeAndRun(settings, options.fixtures, nullptr, options, &files, stop);
}

}  // namespace detcheck
