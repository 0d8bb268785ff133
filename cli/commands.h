#pragma once

#include <atomic>

#include "cli/exit_status.h"
#include "cli/options.h"

namespace detcheck {

// One function for each command; each prints its result on stdout. All throw Error.

ExitStatus RunModesCommand(const Options& options, const std::atomic<bool>& stop);
ExitStatus RunFileCommand(const Options& options, const std::atomic<bool>& stop);
ExitStatus FixtureShowCommand(const Options& options);
ExitStatus FixtureCheckCommand(const Options& options);
ExitStatus FixtureMakeCommand(const Options& options);
ExitStatus ManifestCommand(const Options& options);
ExitStatus ShowCommand(const Options& options);
ExitStatus GateCommand(const Options& options);
ExitStatus DiffCommand(const Options& options);
ExitStatus SupportCommand(const Options& options);
ExitStatus ReplayCommand(const Options& options, const std::atomic<bool>& stop);
ExitStatus MergeCommand(const Options& options);
ExitStatus ServeCommand(const Options& options, const std::atomic<bool>& stop);

}  // namespace detcheck
