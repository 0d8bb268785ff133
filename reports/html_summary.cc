#include "reports/html_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "fixtures/shard.h"
#include "reports/console_failure.h"
#include "reports/console_words.h"

namespace detcheck {
namespace {

// Values of the fields that are known, with a space between them.
std::string Joined(const Manifest& manifest, std::initializer_list<std::string_view> names) {
  std::string joined;
  for (const std::string_view name : names) {
    for (const ManifestField& field : manifest) {
      if (field.name != name || field.value.empty()) continue;
      if (!joined.empty()) joined += ' ';
      joined += field.value;
    }
  }
  return joined;
}

std::string EngineOf(const Report& report) {
  return Joined(report.subject, {"engine.name", "engine.version", "engine.mode"});
}

std::string ModelOf(const Report& report) {
  return Joined(report.subject, {"model.name", "model.id", "model.revision", "model.dtype"});
}

std::string DeviceOf(const Report& report) {
  return Joined(report.subject,
                {"gpu.name", "device.gpu_name", "device.cpu_model", "device.simd_level"});
}

struct Counts {
  size_t num_fixtures = 0;  // Subjects, once for each mode.
  int num_failed = 0;
  int num_samples = 0;
  int num_batches = 0;
  int num_traced = 0;
  const RequestJudgement* first_failure = nullptr;  // A subject if one failed, else a neighbour.
};

Counts Count(const ModeJudgement& mode) {
  Counts counts;
  counts.num_batches = mode.num_batches;
  for (const RequestJudgement& request : mode.requests) {
    counts.num_samples += request.total_samples;
    counts.num_traced += request.traced_samples;
    if (request.subject) ++counts.num_fixtures;
    if (request.verdict != Verdict::kFail) continue;
    if (request.subject) ++counts.num_failed;
    const RequestJudgement* first = counts.first_failure;
    if (first == nullptr || (request.subject && !first->subject)) counts.first_failure = &request;
  }
  return counts;
}

Counts Count(const Judgement& judgement) {
  Counts all;
  for (const ModeJudgement& mode : judgement.modes) {
    const Counts counts = Count(mode);
    all.num_fixtures += counts.num_fixtures;
    all.num_failed += counts.num_failed;
    all.num_samples += counts.num_samples;
    all.num_batches += counts.num_batches;
    all.num_traced += counts.num_traced;
    if (all.first_failure == nullptr) all.first_failure = counts.first_failure;
  }
  return all;
}

std::string WhyPass(const Report& report, const Counts& counts) {
  const bool bits = report.plan.criterion.kind == CriterionKind::kBitwise && counts.num_traced > 0;
  const bool texts = report.plan.criterion.kind == CriterionKind::kText;
  if (IsOfSingleTexts(report.plan.criterion.kind)) {
    return "Within the scope below, every text of every fixture meets the criterion.";
  }
  return fmt::format("Within the scope below, every fixture got the same {} in all its samples.",
                     texts  ? "text"
                     : bits ? "tokens and the same logprobs, bit for bit,"
                            : "tokens");
}

std::string WhyFail(const Report& report, const Counts& counts) {
  const RequestJudgement& first = *counts.first_failure;
  const std::string who = counts.num_failed > 0
                              ? fmt::format("{} of {} diverged", counts.num_failed,
                                            Several(counts.num_fixtures, "fixture"))
                              : "neighbours diverged";
  if (!FoundNondeterminism(report.judgement)) {
    return fmt::format("Equal answers that do not meet the criterion: those of {} in {}.",
                       report.plan.requests[first.request].id, ToString(first.mode));
  }
  return fmt::format("Nondeterminism found: {}; the first is {} in {}, {}.", who,
                     report.plan.requests[first.request].id, ToString(first.mode),
                     SummaryOfFailure(first));
}

// The first reason given for the verdict of the whole.
std::string FirstReason(const Judgement& judgement) {
  for (const ModeJudgement& mode : judgement.modes) {
    if (mode.verdict == judgement.verdict && !mode.reasons.empty()) {
      return NameOfMode(mode) + ": " + mode.reasons.front();
    }
  }
  return judgement.reasons.empty() ? "" : judgement.reasons.front();
}

std::string WhyInOneSentence(const Report& report, const Counts& counts) {
  switch (report.judgement.verdict) {
    case Verdict::kPass:
      return WhyPass(report, counts);
    case Verdict::kFail:
      return counts.first_failure != nullptr ? WhyFail(report, counts)
                                             : FirstReason(report.judgement);
    case Verdict::kInconclusive:
      return "Not shown either way. " + FirstReason(report.judgement);
    case Verdict::kUnsupported:
      return "The target cannot do what was asked. " + FirstReason(report.judgement);
    case Verdict::kError:
      return "The run could not be carried out. " + FirstReason(report.judgement);
  }
  return "";
}

void AppendTile(const std::string& number, std::string_view what, HtmlText* html) {
  html->Open("div", {{"class", "tile"}});
  html->Element("strong", number);
  html->Element("span", what);
  html->Close("div");
}

void AppendTiles(const Report& report, const Counts& counts, HtmlText* html) {
  html->Open("div", {{"class", "tiles"}});
  AppendTile(fmt::format("{} / {}", counts.num_failed, counts.num_fixtures),
             "fixtures diverged, counted in each mode", html);
  AppendTile(fmt::format("{}", counts.num_samples), "samples compared", html);
  AppendTile(fmt::format("{}", counts.num_batches), "distinct batches", html);
  const auto& records = report.transcript.records;
  const auto num_voided = std::count_if(records.begin(), records.end(), [](const StepRecord& r) {
    return r.voided.has_value() || r.error.has_value();
  });
  AppendTile(fmt::format("{} / {}", records.size(), StepsToRun(report.plan).size()),
             "attempts / planned steps", html);
  AppendTile(fmt::format("{}", num_voided), "attempts voided or failed", html);
  html->Close("div");
}

void AppendFacts(const Report& report, HtmlText* html) {
  html->Open("dl", {{"class", "facts"}});
  const auto fact = [&](std::string_view name, const std::string& value) {
    AppendFact(name, value.empty() ? "not known" : value, html);
  };
  fact("Engine", EngineOf(report));
  fact("Model", ModelOf(report));
  fact("Device", DeviceOf(report));
  if (report.support) fact("Documentation", SupportInWords(*report.support));
  fact("Criterion", ToString(report.plan.criterion) + ", declared before the run");
  fact("Started", report.run.started_utc);
  fact("Took", fmt::format("{:.1f} s", report.run.duration_s));
  html->Close("dl");
}

void AppendCell(std::string_view label, const std::string& text, HtmlText* html) {
  html->Element("td", {{"data-label", label}}, text);
}

void AppendModeRow(const ModeJudgement& mode, int num_launches, HtmlText* html) {
  const Counts counts = Count(mode);
  html->Open("tr");
  html->Open("th", {{"scope", "row"}});
  html->Element("a", {{"href", "#mode-" + SlugOfMode(mode)}}, NameOfMode(mode));
  html->Close("th");
  html->Open("td", {{"data-label", "Verdict"}});
  AppendBadge(mode.verdict, html);
  if (!mode.decides) html->Element("small", "does not decide");
  html->Close("td");
  AppendCell("Requirement", RequirementOf(mode), html);
  AppendCell("Diverged", fmt::format("{} of {}", counts.num_failed, counts.num_fixtures), html);
  AppendCell("Samples", fmt::format("{}", counts.num_samples), html);
  AppendCell("Batches", fmt::format("{}", mode.num_batches), html);
  AppendCell("Formed sizes",
             mode.formed_sizes.empty() ? (mode.num_batches == 0 ? "–" : "not known")
                                       : fmt::format("{}", fmt::join(mode.formed_sizes, ", ")),
             html);
  AppendCell("Bound",
             mode.verdict == Verdict::kPass ? BoundInWords(mode.num_batches, num_launches)
             : mode.num_batches == 0        ? "–"
                                            : "none: the mode did not pass",
             html);
  html->Close("tr");
}

void AppendModes(const Report& report, HtmlText* html) {
  html->Open("table", {{"class", "modes stacks"}});
  html->Element("caption", {{"class", "unseen"}}, "The verdict of each mode");
  html->Open("thead");
  html->Open("tr");
  for (const char* column : {"Mode", "Verdict", "Requirement", "Diverged", "Samples", "Batches",
                             "Formed sizes", "Bound"}) {
    html->Element("th", {{"scope", "col"}}, column);
  }
  html->Close("tr");
  html->Close("thead");
  html->Open("tbody");
  const int num_launches = NumLaunches(report.transcript);
  for (const ModeJudgement& mode : report.judgement.modes) {
    AppendModeRow(mode, num_launches, html);
  }
  html->Close("tbody");
  html->Close("table");
}

}  // namespace

std::string TitleOf(const Report& report) {
  std::string title = "detcheck: " + ToString(report.judgement.verdict);
  for (const std::string& part : {EngineOf(report), ModelOf(report)}) {
    if (!part.empty()) title += ", " + part;
  }
  return title;
}

void AppendSummary(const Report& report, HtmlText* html) {
  const Counts counts = Count(report.judgement);
  const std::string verdict = ToString(report.judgement.verdict);
  html->Open("section", {{"class", "verdict " + verdict}, {"aria-label", "Verdict"}});
  html->Open("h1");
  html->Text("Verdict: ");
  AppendBadge(report.judgement.verdict, html);
  html->Close("h1");
  html->Element("p", {{"class", "why"}}, WhyInOneSentence(report, counts));
  for (const std::string& reason : report.judgement.reasons) html->Element("p", reason);
  AppendFacts(report, html);
  AppendTiles(report, counts, html);
  html->Close("section");
  AppendModes(report, html);
}

}  // namespace detcheck
