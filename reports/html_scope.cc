#include "reports/html_scope.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "reports/scope_text.h"

namespace detcheck {
namespace {

/// Attempts that are listed; the others are counted.
constexpr size_t kMaxListedAttempts = 200;

void AppendHead(std::initializer_list<std::string_view> columns, HtmlText* html) {
  html->Open("thead");
  html->Open("tr");
  for (const std::string_view column : columns) {
    html->Element("th", {{"scope", "col"}}, column);
  }
  html->Close("tr");
  html->Close("thead");
}

std::string VariedInWords(const WordScope& word) {
  std::string words;
  for (const ScopeAxis& axis : word.varied) {
    words += fmt::format("{}{}: {}", words.empty() ? "" : "; ", axis.name, ValuesInWords(axis));
  }
  return words.empty() ? "–" : words;
}

void AppendWord(const WordScope& word, bool is_required, HtmlText* html) {
  const bool is_tested = word.n > 0;
  html->Open("tr");
  html->Element("th", {{"scope", "row"}}, ToString(word.word) + (is_required ? " (required)" : ""));
  html->Element("td", {{"data-label", "Tested"}}, is_tested ? CountInWords(word) : "not tested");
  html->Element("td", {{"data-label", "Varied"}}, VariedInWords(word));
  html->Element("td", {{"data-label", "What it bounds"}},
                is_tested ? BoundInWords(word) : word.why_not);
  html->Close("tr");
}

void AppendWords(const Report& report, HtmlText* html) {
  const std::vector<ScopeWord>& required = report.plan.required_scope;
  html->Open("table", {{"class", "stacks"}});
  html->Element("caption", "n: distinct batches that count");
  AppendHead({"Scope", "Tested", "Varied", "What it bounds"}, html);
  html->Open("tbody");
  for (const WordScope& word : report.scope.words) {
    AppendWord(word, std::find(required.begin(), required.end(), word.word) != required.end(),
               html);
  }
  html->Close("tbody");
  html->Close("table");
}

void AppendFacts(std::string_view heading, const std::vector<ScopeFact>& facts, HtmlText* html) {
  html->Element("h3", heading);
  html->Open("dl", {{"class", "facts"}});
  for (const ScopeFact& fact : facts) AppendFact(fact.name, fact.value, html);
  html->Close("dl");
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

}  // namespace

void AppendScope(const Report& report, HtmlText* html) {
  html->Open("section", {{"id", "scope"}});
  html->Element("h2", "Scope");
  for (const std::string& note : report.scope.notes) html->Element("p", note);
  AppendWords(report, html);
  AppendFacts("Holds for, and no other", report.scope.holds_for, html);
  AppendFacts("Held", report.scope.held, html);
  html->Element("h3", "Not tested");
  html->Open("ul");
  for (const std::string& what : report.scope.not_tested) html->Element("li", what);
  html->Close("ul");
  html->Close("section");
}

void AppendVoided(const Report& report, HtmlText* html) {
  const std::vector<VoidedAttempt>& voided = report.scope.voided;
  if (voided.empty()) return;
  html->Open("section", {{"id", "voided"}});
  html->Element("h2", "Attempts that do not count");
  html->Element("p",
                "Decided without looking at their outputs. Their answers are kept and compared: a "
                "divergence in any of them is a failure.");
  html->Open("ul");
  for (size_t i = 0; i < std::min(voided.size(), kMaxListedAttempts); ++i) {
    html->Element("li", fmt::format("step {} '{}', attempt {}: {}", voided[i].step,
                                    report.plan.steps[voided[i].step].label, voided[i].attempt + 1,
                                    voided[i].why));
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
