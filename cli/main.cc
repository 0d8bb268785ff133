#include <atomic>
#include <exception>

#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/print.h"
#include "engine/base/error.h"
#include "fixtures/file_io.h"

namespace detcheck {
namespace {

ExitStatus Dispatch(const Options& options, const std::atomic<bool>& stop) {
  switch (options.command) {
    case Command::kPrint:
      PrintResult(options.text);
      return ExitStatus::kPass;
    case Command::kModes:
      return RunModesCommand(options, stop);
    case Command::kRun:
      return RunFileCommand(options, stop);
    case Command::kFixtureShow:
      return FixtureShowCommand(options);
    case Command::kFixtureCheck:
      return FixtureCheckCommand(options);
    case Command::kFixtureMake:
      return FixtureMakeCommand(options);
    case Command::kManifest:
      return ManifestCommand(options);
    case Command::kSupport:
      return SupportCommand(options);
    case Command::kShow:
      return ShowCommand(options);
    case Command::kGate:
      return GateCommand(options);
    case Command::kDiff:
      return DiffCommand(options);
    case Command::kReplay:
      return ReplayCommand(options, stop);
    case Command::kMerge:
      return MergeCommand(options);
    case Command::kServe:
      return ServeCommand(options, stop);
  }
  return ExitStatus::kUsage;
}

ExitStatus Complain(const char* what, ExitStatus status) {
  PrintNote("detcheck: " + OneLine(what) + '\n');
  return status;
}

ExitStatus Run(int argc, char** argv) {
  const std::atomic<bool>& stop = CatchSignals();
  try {
    const ExitStatus status = Dispatch(ParseOptions(argc, argv), stop);
    if (!FlushStdout()) {
      return Complain("standard output cannot be written", ExitStatus::kUnfinished);
    }
    return status;
  } catch (const Error& error) {
    return Complain(error.what(), ExitStatusOf(error.code()));
  } catch (const std::exception& error) {
    return Complain(error.what(), ExitStatus::kUnfinished);
  }
}

}  // namespace
}  // namespace detcheck

int main(int argc, char** argv) {
  return static_cast<int>(detcheck::Run(argc, argv));
}
