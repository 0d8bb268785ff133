#include "cli/run_options.h"

#include <fmt/format.h>

#include <string>

#include "cli/number.h"
#include "engine/base/error.h"
#include "fixtures/file_io.h"

namespace detcheck {
namespace {

AllowedInconclusive ParseAllowed(const std::string& text) {
  const size_t colon = text.find(':');
  const std::optional<Mode> mode = ParseMode(text.substr(0, colon));
  if (!mode || colon == std::string::npos || colon + 1 == text.size()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("--allow-inconclusive {}: not MODE:REASON", OneLine(text)));
  }
  return {*mode, text.substr(colon + 1)};
}

}  // namespace

void AddAllowed(OptionAdder* add, Options* options) {
  add->Paths("--allow-inconclusive", "MODE:REASON", "",
             "let MODE be inconclusive where its reason holds\nthis text; repeatable",
             [=](const std::string& text) { options->allowed.push_back(ParseAllowed(text)); });
}

void AddRunOptions(OptionAdder* add, Options* options) {
  add->BeginGroup("How to run and judge");
  add->Whole("--step-attempts", &options->runner.step_attempts, 1, 100,
             std::to_string(options->runner.step_attempts),
             "attempts at a step that does not show its evidence");
  add->Value("--budget", "SECONDS", "no limit", "no step begins after this",
             [=](const std::string& text) {
               options->runner.budget_s = ParseReal("--budget", text, 0.001, 1e9);
             });
  AddAllowed(add, options);
  add->Flag("--dry-run", "show the plan and stop", [=] { options->dry_run = true; });
  add->Path("--plan", "FILE", "", "with --dry-run: save the plan for detcheck run",
            [=](const std::string& text) { options->save_plan = text; });
  add->Flag("--resume", "go on with the run that --report FILE began",
            [=] { options->resume = true; });
}

void AddRenderings(OptionAdder* add, RenderingPaths* paths) {
  add->Path("--junit", "FILE", "", "write the result as JUnit XML",
            [=](const std::string& text) { paths->junit = text; });
  add->Path("--markdown", "FILE", "", "write the result as a job summary",
            [=](const std::string& text) { paths->markdown = text; });
}

void AddPage(OptionAdder* add, RenderingPaths* paths) {
  add->Path("--html", "FILE", "", "write the result as one page for a browser",
            [=](const std::string& text) { paths->html = text; });
}

void AddColor(OptionAdder* add, Options* options) {
  add->Word<ColorWish>(
      "--color", &options->color,
      {{"auto", ColorWish::kAuto}, {"always", ColorWish::kAlways}, {"never", ColorWish::kNever}},
      "auto", "colour the result");
}

void AddOutputOptions(OptionAdder* add, Options* options) {
  add->BeginGroup("Output", OptionAdder::Noted::kNo);
  add->Path("--report", "FILE", "", "write all evidence, as JSON",
            [=](const std::string& text) { options->report = text; });
  AddRenderings(add, &options->renderings);
  AddPage(add, &options->renderings);
  add->Flag("--quiet", "print errors only", [=] { options->quiet = true; });
  add->Flag("--no-progress", "no progress on stderr", [=] { options->progress = false; });
  AddColor(add, options);
}

}  // namespace detcheck
