#include "cli/execute.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <utility>

#include "cli/color.h"
#include "cli/harness_manifest.h"
#include "cli/outcome.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/renderings.h"
#include "cli/resume.h"
#include "cli/runner.h"
#include "cli/support_files.h"
#include "fixtures/file_io.h"
#include "fixtures/shard.h"
#include "reports/console.h"
#include "reports/diff.h"
#include "reports/manifest_fields.h"
#include "reports/report.h"

namespace detcheck {
namespace {

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
  fresh.order = StepsToRun(plan);
  return fresh;
}

void PrintBeginning(const Target& target, const Report& report, const Options& options) {
  if (options.quiet) return;
  const RunFacts& run = report.run;
  if (report.plan.criterion.kind == CriterionKind::kCommand) {
    PrintNote("criterion: runs for each distinct text: " + OneLine(report.plan.criterion.argument) +
              '\n');
  }
  if (!target.choice.empty()) PrintNote(target.choice + '\n');
  PrintNote(target.description.engine + '\n');
  if (run.resumed_records > 0) {
    PrintNote(fmt::format("going on after {} steps of the earlier run\n", run.resumed_records));
  } else if (options.resume) {
    PrintNote("no earlier run to go on with: from the beginning\n");
  }
}

RunEnd RunWithProgress(const Plan& plan, Backend* backend, const Options& options,
                       const std::atomic<bool>& stop, RunFiles* files, Resumption* todo) {
  const bool is_shown = options.progress && !options.quiet;
  Progress progress(plan, todo->order, is_shown ? stderr : nullptr);
  Runner runner(plan, backend, options.runner, stop, files->writer(), &progress, &todo->transcript);
  return runner.Run(todo->order);
}

void PrintEnd(RunEnd end, const std::string& why, const Options& options) {
  if (end == RunEnd::kComplete) return;
  PrintNote(fmt::format("detcheck: {}{}\n", why,
                        options.report.empty() ? "" : "; the same command with --resume goes on"));
}

// Says what changed from the recorded run.
bool Differs(const Report& recorded, const Report& report, const Options& options) {
  const ReportDiff diff = DiffReports(recorded, report);
  if (!options.quiet) PrintResult("Against the recorded run\n" + RenderDiff(diff));
  return diff.Differ();
}

}  // namespace

ExitStatus ExecutePlan(const Plan& plan, const RunInputs& inputs, Target* target, RunFiles* files,
                       const Options& options, const std::atomic<bool>& stop) {
  Report report;
  report.run.started_utc = UtcNow();
  report.harness = HarnessManifest(options.arguments);
  if (!target->choice.empty()) {
    report.harness.push_back({"detcheck.engine_choice", target->choice, FieldSource::kObserved});
  }
  report.subject = target->description.subject;
  report.support = SupportOf(report.subject, plan);
  report.facts = target->description.facts;
  report.plan = plan;
  if (inputs.protocol != nullptr) report.protocol = *inputs.protocol;
  Resumption todo = WhatToRun(plan, IdentityDigest(report.subject), options, files);
  report.run.resumed_records = static_cast<int>(todo.transcript.records.size());
  PrintBeginning(*target, report, options);

  const auto began = std::chrono::steady_clock::now();
  const RunEnd end = RunWithProgress(plan, target->backend.get(), options, stop, files, &todo);
  report.run.duration_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  report.run.interrupted = end == RunEnd::kInterrupted;
  report.transcript = std::move(todo.transcript);
  report.texts = CheckTexts(report.plan, report.transcript, inputs.check);
  JudgeReport(&report);

  files->End(report, end != RunEnd::kComplete);
  if (!options.quiet) PrintResult(RenderConsole(report, WantsColor(options.color)));
  PrintEnd(end, report.transcript.ended_early, options);
  ExitStatus outcome = OutcomeOf(report.judgement, end, options.allowed);
  if (inputs.recorded != nullptr && end == RunEnd::kComplete &&
      Differs(*inputs.recorded, report, options)) {
    outcome = ExitStatus::kDivergence;
  }
  if (WriteRenderings(report, options.renderings)) return outcome;
  // A divergence that was found tells before a file that could not be written.
  return outcome == ExitStatus::kDivergence || outcome == ExitStatus::kInterrupted
             ? outcome
             : ExitStatus::kUnfinished;
}

}  // namespace detcheck
