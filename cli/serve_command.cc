// detcheck serve: the embedded engine over HTTP.

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/print.h"
#include "cli/targets.h"
#include "engine/server/serve.h"
#include "fixtures/file_io.h"

namespace detcheck {

ExitStatus ServeCommand(const Options& options, const std::atomic<bool>& stop) {
  RequireServe();
  Targets targets(options.target);
  const Target& target = targets.each().front();
  if (!target.choice.empty()) PrintNote(OneLine(target.choice) + '\n');
  Serve(target.backend.get(), options.serve, stop, [&](const std::string& url) {
    PrintResult(fmt::format("{}: {}\n", target.description.engine, url));
    FlushStdout();
  });
  return ExitStatus::kPass;
}

}  // namespace detcheck
