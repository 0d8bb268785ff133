#include "reports/html_scope.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/console_words.h"
#include "reports/evidence.h"
#include "reports/html_summary.h"

namespace detcheck {
namespace {

/// Values of one axis that are listed; the others are counted.
constexpr size_t kMaxListedValues = 24;
/// Attempts that are listed; the others are counted.
constexpr size_t kMaxListedAttempts = 200;

// Axis, value: attempts that count.
using Varied = std::map<std::string, std::map<int64_t, int>>;

Varied VariedIn(const Report& report, Mode mode) {
  Varied varied;
  for (const StepRecord& record : report.transcript.records) {
    const Step& step = report.plan.steps[record.step];
    if (step.mode != mode || !IsJudged(step)) continue;
    if (!Counts(step, record)) continue;
    for (const Axis& axis : step.axes) ++varied[axis.name][axis.value];
  }
  return varied;
}

std::string ValuesInWords(const std::map<int64_t, int>& values) {
  std::string words;
  size_t num_listed = 0;
  for (const auto& [value, count] : values) {
    if (num_listed++ == kMaxListedValues) {
      return fmt::format("{} and {} more", words, values.size() - kMaxListedValues);
    }
    words += fmt::format("{}{} (n = {})", words.empty() ? "" : ", ", value, count);
  }
  return words;
}

std::string SentenceOf(const ModeJudgement& mode, int num_launches) {
  if (mode.verdict == Verdict::kUnsupported) {
    return mode.reasons.empty() ? "unsupported" : "unsupported: " + mode.reasons.front();
  }
  if (mode.verdict == Verdict::kPass) return BoundInWords(mode.num_batches, num_launches);
  return fmt::format("{} distinct {} ran; no bound, as the mode did not pass", mode.num_batches,
                     mode.num_batches == 1 ? "batch" : "batches");
}

void AppendVaried(const Report& report, HtmlText* html) {
  html->Element("h3", "Varied");
  const int num_launches = NumLaunches(report);
  html->Open("table", {{"class", "stacks"}});
  html->Element("caption", "n: attempts that count");
  html->Raw(
      "<thead><tr><th scope=\"col\">Mode</th><th scope=\"col\">Axis</th>"
      "<th scope=\"col\">Values</th></tr></thead>\n<tbody>\n");
  for (const ModeJudgement& mode : report.judgement.modes) {
    for (const auto& [axis, values] : VariedIn(report, mode.mode)) {
      html->Open("tr");
      html->Element("th", {{"scope", "row"}}, ToString(mode.mode));
      html->Element("td", {{"data-label", "Axis"}}, axis);
      html->Element("td", {{"data-label", "Values"}}, ValuesInWords(values));
      html->Close("tr");
    }
  }
  html->Close("tbody");
  html->Close("table");
  html->Element("h3", "What it bounds");
  html->Open("dl", {{"class", "facts"}});
  for (const ModeJudgement& mode : report.judgement.modes) {
    AppendFact(ToString(mode.mode), SentenceOf(mode, num_launches), html);
  }
  html->Close("dl");
}

std::string SamplingInWords(const Sampling& sampling) {
  if (sampling.temperature == 0.0) return "greedy (temperature 0)";
  return fmt::format("temperature {}, top_p {}, top_k {}, min_p {}, seed {}", sampling.temperature,
                     sampling.top_p, sampling.top_k, sampling.min_p, sampling.seed);
}

std::set<int> SubjectsOf(const Plan& plan) {
  std::set<int> subjects;
  for (const Step& step : plan.steps) {
    for (const PlannedItem& item : step.items) {
      if (item.subject && IsJudged(step)) subjects.insert(item.request);
    }
  }
  return subjects;
}

// The distinct values of one property of all fixtures, as words.
template <typename InWords>
std::string OfAllFixtures(const Plan& plan, const InWords& in_words) {
  std::set<std::string> distinct;
  for (const int subject : SubjectsOf(plan)) distinct.insert(in_words(plan.requests[subject]));
  if (distinct.size() > kMaxListedValues) return fmt::format("{} settings", distinct.size());
  return fmt::format("{}", fmt::join(distinct, "; "));
}

void AppendHeld(const Report& report, HtmlText* html) {
  html->Element("h3", "Held");
  html->Open("dl", {{"class", "facts"}});
  const auto fact = [&](std::string_view name, const std::string& value) {
    AppendFact(name, value, html);
  };
  const auto size = [&](std::string_view name, const std::optional<int>& value) {
    fact(name, value ? fmt::format("{}", *value) : "not known");
  };
  fact("Criterion", ToString(report.plan.criterion.kind));
  fact("Sampling of fixtures", OfAllFixtures(report.plan, [](const PlannedRequest& request) {
         return SamplingInWords(request.sampling);
       }));
  fact("New tokens of fixtures", OfAllFixtures(report.plan, [](const PlannedRequest& request) {
         return fmt::format("{}{}", request.max_new_tokens,
                            request.ignore_eos ? "" : " or up to the end of sequence");
       }));
  fact("Starts of the target", fmt::format("{}", NumLaunches(report)));
  size("Page size, tokens", report.facts.page_size);
  size("Prefill chunk, tokens", report.facts.chunk_size);
  size("Most running requests", report.facts.max_running_requests);
  size("KV pool, tokens", report.facts.kv_pool_tokens);
  html->Close("dl");
}

void AppendNotTested(const Report& report, HtmlText* html) {
  html->Element("h3", "Not tested");
  html->Open("ul");
  for (const std::string& what : report.plan.not_tested) html->Element("li", what);
  for (const Plan::Unplanned& unplanned : report.plan.unplanned) {
    html->Element("li", fmt::format("{}: {}", ToString(unplanned.mode), unplanned.reason));
  }
  std::vector<std::string> not_asked;
  for (const Mode mode : {Mode::kSingle, Mode::kBatch, Mode::kMixed, Mode::kPrefix,
                          Mode::kRadixCache, Mode::kPvsD, Mode::kSeeds, Mode::kHistory}) {
    const auto& modes = report.judgement.modes;
    if (std::none_of(modes.begin(), modes.end(),
                     [&](const ModeJudgement& judged) { return judged.mode == mode; })) {
      not_asked.push_back(ToString(mode));
    }
  }
  if (!not_asked.empty()) {
    html->Element("li", fmt::format("modes not asked for: {}", fmt::join(not_asked, ", ")));
  }
  html->Element("li", "other engines, models, settings, devices and machines");
  html->Close("ul");
}

void AppendManifest(std::string_view caption, const Manifest& manifest, HtmlText* html) {
  html->Open("table", {{"class", "manifest"}});
  html->Element("caption", caption);
  html->Raw(
      "<thead><tr><th scope=\"col\">Field</th><th scope=\"col\">Value</th>"
      "<th scope=\"col\">Source</th></tr></thead>\n<tbody>\n");
  for (const ManifestField& field : manifest) {
    constexpr std::string_view kSources[] = {"observed", "claimed", "declared", "unknown"};
    const std::string_view source = kSources[static_cast<size_t>(field.source)];
    html->Open("tr");
    html->Element("th", {{"scope", "row"}}, field.name);
    html->Element("td", {{"class", "value"}}, field.value.empty() ? "–" : field.value);
    html->Element("td", {{"class", std::string("source ") + std::string(source)}}, source);
    html->Close("tr");
  }
  html->Close("tbody");
  html->Close("table");
}

std::string WhyNotCounted(const Report& report, const StepRecord& record) {
  if (record.error) return "failed: " + *record.error;
  if (record.voided) return "voided: " + *record.voided;
  for (const Completion& completion : record.completions) {
    if (!completion.error.empty()) return "failed: " + completion.error;
  }
  return MissedEvidence(report.plan.steps[record.step], record).value_or("");
}

}  // namespace

void AppendScope(const Report& report, HtmlText* html) {
  html->Open("section", {{"id", "scope"}});
  html->Element("h2", "Scope");
  html->Element("p", "Holds for the engine, model, settings and device of this run, and no other.");
  for (const std::string& note : report.judgement.notes) html->Element("p", note);
  AppendVaried(report, html);
  AppendHeld(report, html);
  AppendNotTested(report, html);
  html->Close("section");
}

void AppendVoided(const Report& report, HtmlText* html) {
  std::vector<std::pair<const StepRecord*, std::string>> voided;
  for (const StepRecord& record : report.transcript.records) {
    std::string why = WhyNotCounted(report, record);
    if (!why.empty()) voided.emplace_back(&record, std::move(why));
  }
  if (voided.empty()) return;
  html->Open("section", {{"id", "voided"}});
  html->Element("h2", "Attempts that do not count");
  html->Element("p",
                "Decided without looking at their outputs. Their answers are kept and compared: a "
                "divergence in any of them is a failure.");
  html->Open("ul");
  for (size_t i = 0; i < std::min(voided.size(), kMaxListedAttempts); ++i) {
    const StepRecord& record = *voided[i].first;
    html->Element("li", fmt::format("step {} '{}', attempt {}: {}", record.step,
                                    report.plan.steps[record.step].label, record.attempt + 1,
                                    voided[i].second));
  }
  if (voided.size() > kMaxListedAttempts) {
    html->Element("li", fmt::format("and {} more", voided.size() - kMaxListedAttempts));
  }
  html->Close("ul");
  html->Close("section");
}

void AppendManifests(const Report& report, HtmlText* html) {
  html->Open("section", {{"id", "manifests"}});
  html->Element("h2", "Manifests");
  html->Element("p",
                "observed: seen by detcheck; claimed: the target says so; declared: the caller "
                "says so; unknown: nobody does.");
  html->Open("div", {{"class", "columns"}});
  AppendManifest("Subject: what was tested", report.subject, html);
  AppendManifest("Harness: what tested it", report.harness, html);
  html->Close("div");
  html->Open("dl", {{"class", "facts"}});
  AppendFact("Plan, SHA-256", report.transcript.plan_digest, html);
  AppendFact("Subject identity before", report.transcript.identity, html);
  AppendFact("Subject identity after",
             report.transcript.identity_after.empty() ? "could not be read"
                                                      : report.transcript.identity_after,
             html);
  html->Close("dl");
  html->Close("section");
}

void AppendCommands(const Report& report, HtmlText* html) {
  html->Open("section", {{"id", "repeat"}});
  html->Element("h2", "See it again");
  const auto command = [&](std::string_view what, const std::string& line) {
    html->Element("p", what);
    html->Open("pre", {{"tabindex", "0"}});
    html->Element("code", line);
    html->Close("pre");
  };
  for (const ManifestField& field : report.harness) {
    if (field.name == "arguments" && !field.value.empty()) {
      command("The run of this report:", "detcheck " + field.value);
    }
  }
  command("The plan kept in the report, run again and compared with what it recorded:",
          "detcheck replay REPORT");
  html->Close("section");
}

}  // namespace detcheck
