#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/fixture_make_options.h"
#include "cli/renderings.h"
#include "cli/runner.h"
#include "cli/support_options.h"
#include "engine/factory.h"
#include "engine/server/serve.h"
#include "fixtures/modes/modes.h"

namespace detcheck {

enum class Command {
  kPrint,  ///< Options::text, and nothing else (help, version).
  kModes,
  kRun,
  kFixtureShow,
  kFixtureCheck,
  kFixtureMake,
  kManifest,
  kSupport,
  kShow,
  kGate,
  kDiff,
  kReplay,
  kMerge,
  kServe,
};

/// --shard INDEX/COUNT
struct ShardChoice {
  int index = 0;  ///< 1-based.
  int count = 0;
};

enum class ColorWish { kAuto, kAlways, kNever };

/// --allow-inconclusive MODE:REASON
struct AllowedInconclusive {
  Mode mode = Mode::kSingle;
  std::string reason;  ///< Part of the reason that the report gives.
};

/// The command line, parsed and checked as far as that goes without files.
struct Options {
  Command command = Command::kPrint;
  std::string text;

  TargetOptions target;

  ModeSettings settings;              ///< kModes; its fixtures are subject IDs only.
  std::vector<std::string> fixtures;  ///< --fixture, as given.
  std::string plan_file;              ///< kRun: a plan or a protocol.
  std::string save_plan;              ///< --plan; empty: not saved.
  std::optional<ShardChoice> shard;   ///< kModes, kRun.
  RunnerSettings runner;
  bool dry_run = false;
  bool resume = false;

  std::string report;  ///< Empty: none is written.
  RenderingPaths renderings;
  bool quiet = false;
  bool progress = true;
  ColorWish color = ColorWish::kAuto;
  std::vector<AllowedInconclusive> allowed;

  std::string file;  ///< kFixtureShow: a file, or the name of a set. kShow, kReplay: a report.
  std::vector<std::string> files;   ///< kFixtureCheck: likewise. kGate, kDiff, kMerge: reports.
  std::string fixture_id;           ///< kFixtureShow; empty: the whole set.
  FixtureMakeOptions fixture_make;  ///< kFixtureMake.
  bool json = false;                ///< kManifest.
  SupportQuery support;             ///< kSupport.
  ServeOptions serve;               ///< kServe.
  std::string baseline;             ///< kGate; empty: none.
  std::string protocol;             ///< kGate; empty: none.
  bool annotations = false;         ///< kGate.
  bool allow_different_prompts = false;   ///< kDiff.
  bool compare_changed_requests = false;  ///< kDiff.

  /// For the manifest: what bears on the run, paths as base names.
  std::string arguments;
};

/// Throws Error(kUsage) with one line for anything that is wrong.
Options ParseOptions(int argc, const char* const* argv);

}  // namespace detcheck
