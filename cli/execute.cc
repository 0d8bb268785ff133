#include "cli/execute.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <utility>

#include "cli/color.h"
#include "cli/harness_manifest.h"
#include "cli/outcome.h"
#include "cli/print.h"
#include "cli/renderings.h"
#include "cli/replica_runs.h"
#include "cli/support_files.h"
#include "fixtures/file_io.h"
#include "reports/console.h"
#include "reports/diff.h"
#include "reports/report.h"

namespace detcheck {
namespace {

std::string UtcNow() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

void PrintTargets(Targets* targets) {
  for (size_t i = 0; i < targets->each().size(); ++i) {
    const Target& target = targets->each()[i];
    const std::string name =
        targets->AreReplicas() ? NameOfReplica(static_cast<int>(i)) + ": " : std::string();
    if (target.failure) {
      PrintNote(fmt::format("{}{}\n", name, OneLine(target.failure->what())));
      continue;
    }
    if (!target.choice.empty()) PrintNote(name + target.choice + '\n');
    PrintNote(name + target.description.engine + '\n');
  }
  const std::string differ = FactsThatDiffer(targets->Replicas());
  if (!differ.empty()) PrintNote("the plan is made of what all replicas have: " + differ + '\n');
}

void PrintBeginning(Targets* targets, const Report& report, const Options& options) {
  if (options.quiet) return;
  const RunFacts& run = report.run;
  if (report.plan.criterion.kind == CriterionKind::kCommand) {
    PrintNote("criterion: runs for each distinct text: " + OneLine(report.plan.criterion.argument) +
              '\n');
  }
  PrintTargets(targets);
  if (run.resumed_records > 0) {
    PrintNote(fmt::format("going on after {} steps of the earlier run\n", run.resumed_records));
  } else if (options.resume) {
    PrintNote("no earlier run to go on with: from the beginning\n");
  }
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

ExitStatus ExecutePlan(const Plan& plan, const RunInputs& inputs, Targets* targets, RunFiles* files,
                       const Options& options, const std::atomic<bool>& stop) {
  Report report;
  report.run.started_utc = UtcNow();
  report.harness = HarnessManifest(options.arguments);
  const std::string& choice = targets->each().front().choice;
  if (!choice.empty()) {
    report.harness.push_back({"detcheck.engine_choice", choice, FieldSource::kObserved});
  }
  report.subject = targets->Subject();
  report.support = SupportOf(report.subject, plan);
  report.facts = targets->Facts();
  report.plan = plan;
  if (inputs.protocol != nullptr) report.protocol = *inputs.protocol;
  RunsOfTargets runs_of_targets(plan, options, targets, files);
  report.run.resumed_records = runs_of_targets.NumResumed();
  PrintBeginning(targets, report, options);

  const auto began = std::chrono::steady_clock::now();
  TargetRuns runs = runs_of_targets.Run(stop);
  const RunEnd end = runs.end;
  report.run.duration_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  report.run.interrupted = end == RunEnd::kInterrupted;
  report.transcript = std::move(runs.transcript);
  report.replicas = std::move(runs.replicas);
  report.texts = CheckTexts(report.plan, report.transcript, inputs.check);
  JudgeReport(&report);

  const bool is_kept = files->End(report, end != RunEnd::kComplete);
  if (!options.quiet) PrintResult(RenderConsole(report, WantsColor(options.color)));
  PrintEnd(end, report.transcript.ended_early, options);
  ExitStatus outcome = OutcomeOf(report.judgement, end, options.allowed);
  if (inputs.recorded != nullptr && report.transcript.complete &&
      Differs(*inputs.recorded, report, options)) {
    outcome = ExitStatus::kDivergence;
  }
  if (WriteRenderings(report, options.renderings) && is_kept) return outcome;
  // A divergence that was found tells before a file that could not be written.
  return outcome == ExitStatus::kDivergence || outcome == ExitStatus::kInterrupted
             ? outcome
             : ExitStatus::kUnfinished;
}

}  // namespace detcheck
