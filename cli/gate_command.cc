// detcheck gate REPORT…: judge reports for CI.

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "cli/commands.h"
#include "cli/outcome.h"
#include "cli/print.h"
#include "cli/protocol_file.h"
#include "cli/renderings.h"
#include "engine/base/error.h"
#include "fixtures/file_io.h"
#include "reports/annotations.h"
#include "reports/console_words.h"
#include "reports/gate_baseline.h"
#include "reports/gate_protocol.h"
#include "reports/junit.h"
#include "reports/markdown.h"
#include "reports/report.h"

namespace detcheck {
namespace {

// Each has a share of the job summary that can hold something.
constexpr size_t kMostReports = 100;

/// What of several reports is kept: the reports themselves may be large.
struct Gate {
  std::vector<GateSuite> suites;
  std::string markdown;
  std::string lines;  // The result on stdout.
  Verdict worst = Verdict::kPass;
};

// 1 over 4 over 3 over 0.
Verdict VerdictOf(ExitStatus status) {
  switch (status) {
    case ExitStatus::kPass:
      return Verdict::kPass;
    case ExitStatus::kDivergence:
      return Verdict::kFail;
    case ExitStatus::kUnfinished:
    case ExitStatus::kUsage:
      return Verdict::kError;
    case ExitStatus::kInconclusive:
    case ExitStatus::kInterrupted:
      return Verdict::kInconclusive;
  }
  return Verdict::kError;
}

Verdict VerdictOf(const Report& report, const std::vector<AllowedInconclusive>& allowed) {
  const Verdict verdict = VerdictOf(OutcomeOf(report.judgement, EndOf(report), allowed));
  const bool is_unsupported = report.judgement.verdict == Verdict::kUnsupported;
  return verdict == Verdict::kInconclusive && is_unsupported ? Verdict::kUnsupported : verdict;
}

std::string LinesOf(const std::string& label, const std::vector<GateSuite>& suites,
                    Verdict verdict) {
  std::string text = fmt::format("{}: {}\n", Printable(label), ToString(verdict));
  for (const GateSuite& suite : suites) {
    for (const GateCase& one : suite.cases) {
      if (one.verdict == Verdict::kPass) continue;
      text +=
          fmt::format("  {}: {}: {}: {}\n", suite.name, one.name, VerdictInWords(one), one.message);
    }
  }
  return text;
}

void Add(const Report& report, const std::string& label, const std::optional<Report>& baseline,
         const Options& options, Gate* gate) {
  std::vector<GateSuite> suites = SuitesOf(report, label);
  Verdict verdict = VerdictOf(report, options.allowed);
  gate->markdown += RenderMarkdown(report, label, kMaxSummaryBytes / (2 * options.files.size()));
  if (baseline) {
    suites.push_back(CompareWithBaseline(report, *baseline, label));
    for (const GateCase& one : suites.back().cases) verdict = Worse(verdict, one.verdict);
    gate->markdown +=
        RenderMarkdown(fmt::format("Against the baseline: {}", ToString(verdict)), {suites.back()},
                       kMaxSummaryBytes / (2 * options.files.size()));
  }
  gate->lines += LinesOf(label.empty() ? "report" : label, suites, verdict);
  gate->worst = Worse(gate->worst, verdict);
  for (GateSuite& suite : suites) gate->suites.push_back(std::move(suite));
}

// Names of the reports, for people, each its own; one report needs none.
std::vector<std::string> LabelsOf(const std::vector<std::string>& files) {
  if (files.size() == 1) return {""};
  std::vector<std::string> labels;
  std::set<std::string> taken;
  for (const std::string& file : files) {
    const std::string name = std::filesystem::path(file).filename().string();
    std::string label = name;
    for (int i = 2; !taken.insert(Printable(label)).second; ++i) {
      label = fmt::format("{} #{}", name, i);
    }
    labels.push_back(label);
  }
  return labels;
}

}  // namespace

ExitStatus GateCommand(const Options& options) {
  RequireWritable(options.renderings);
  if (options.files.size() > kMostReports) {
    throw Error(ErrorCode::kUsage, fmt::format("gate: more than {} reports", kMostReports));
  }
  std::optional<Report> baseline;
  if (!options.baseline.empty()) baseline = ReadReport(options.baseline);
  std::optional<Protocol> protocol;
  if (!options.protocol.empty()) {
    protocol = OpenProtocol(ReadFile(options.protocol), options.protocol);
  }
  const std::vector<std::string> labels = LabelsOf(options.files);
  Gate gate;
  for (size_t i = 0; i < options.files.size(); ++i) {
    const Report report = ReadReport(options.files[i]);
    RequireProtocol(report, options.files[i], protocol ? &*protocol : nullptr);
    Add(report, labels[i], baseline, options, &gate);
  }
  if (!options.quiet) PrintResult(gate.lines);
  if (options.annotations) PrintResult(RenderAnnotations(gate.suites));
  bool is_written = WriteRendering(options.renderings.junit, RenderJunit(gate.suites));
  is_written &= WriteRendering(options.renderings.markdown, gate.markdown);
  if (!is_written) gate.worst = Worse(gate.worst, Verdict::kError);
  return static_cast<ExitStatus>(ExitCode(gate.worst));
}

}  // namespace detcheck
