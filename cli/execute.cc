#include "cli/execute.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "cli/harness_manifest.h"
#include "cli/identity.h"
#include "cli/outcome.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/resume.h"
#include "cli/run_files.h"
#include "cli/runner.h"
#include "reports/console.h"
#include "reports/report.h"

namespace detcheck {
namespace {

bool WantsColor(ColorWish wish) {
  if (wish != ColorWish::kAuto) return wish == ColorWish::kAlways;
  return isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
}

std::string UtcNow() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

/// What is to be run: all of the plan, or what an earlier run has left of it.
Resumption WhatToRun(const Plan& plan, const std::string& identity, const Options& options,
                     RunFiles* files) {
  const std::string plan_digest = PlanDigest(plan);
  if (options.resume && files->HasEarlierRun()) {
    Resumption resumption = ResumeFrom(files->transcript_path(), plan, plan_digest, identity);
    files->Continue(resumption.transcript);
    return resumption;
  }
  files->Begin(plan_digest, identity);
  Resumption fresh;
  fresh.transcript.plan_digest = plan_digest;
  fresh.transcript.identity = identity;
  fresh.order = AllSteps(plan);
  return fresh;
}

void PrintEnd(RunEnd end, const std::string& why, const Options& options) {
  if (end == RunEnd::kComplete) return;
  PrintNote(fmt::format("detcheck: {}{}\n", why,
                        options.report.empty() ? "" : "; the same command with --resume goes on"));
}

}  // namespace

ExitStatus ExecutePlan(const Plan& plan, bool all_modes, Backend* backend, const Options& options,
                       const std::atomic<bool>& stop) {
  Report report;
  report.run.started_utc = UtcNow();
  const auto began = std::chrono::steady_clock::now();
  Description description = backend->Describe();
  RunFiles files(options.report);
  Resumption todo = WhatToRun(plan, IdentityDigest(description.subject), options, &files);
  report.run.resumed_records = static_cast<int>(todo.transcript.records.size());
  if (!options.quiet) PrintNote(description.engine + '\n');

  RunEnd end = RunEnd::kComplete;
  {
    Progress progress(plan, todo.order, options.progress && !options.quiet ? stderr : nullptr);
    Runner runner(plan, backend, options.runner, stop, files.writer(), &progress, &todo.transcript);
    end = runner.Run(todo.order);
  }
  report.run.duration_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  report.run.interrupted = end == RunEnd::kInterrupted;
  report.harness = HarnessManifest(options.arguments);
  report.subject = std::move(description.subject);
  report.facts = description.facts;
  report.plan = plan;
  report.transcript = std::move(todo.transcript);
  report.judgement = Judge(report.plan, report.transcript);

  files.End(report, end != RunEnd::kComplete);
  if (!options.quiet) PrintResult(RenderConsole(report, WantsColor(options.color)));
  PrintEnd(end, report.transcript.ended_early, options);
  return OutcomeOf(report.judgement, end, all_modes, options.allowed);
}

}  // namespace detcheck
