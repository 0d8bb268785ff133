#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "cli/exit_status.h"
#include "cli/options.h"
#include "cli/run_files.h"
#include "fixtures/protocol.h"

namespace detcheck {

/// Makes a plan of `settings` and of `fixtures`, as --fixture takes them, for the target; runs it,
/// or shows and saves it where only that is asked for. The settings' criterion has its schema. With
/// `protocol`, which they are of, every mode decides. Throws Error.
ExitStatus MakeAndRun(ModeSettings settings, const std::vector<std::string>& fixtures,
                      const Protocol* protocol, const Options& options, RunFiles* files,
                      const std::atomic<bool>& stop);

}  // namespace detcheck
