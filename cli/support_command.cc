// detcheck support: what engines document of determinism.

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/print.h"
#include "cli/support_files.h"
#include "engine/base/error.h"
#include "fixtures/file_io.h"
#include "reports/manifest_fields.h"
#include "reports/support.h"

namespace detcheck {
namespace {

std::string SourcesInWords(const std::vector<SupportSource>& sources) {
  std::string text = sources.empty() ? "" : "Sources\n";
  for (const SupportSource& source : sources) {
    if (source.test.empty()) {
      text += fmt::format("  {}: {}, read {}\n    {}\n", source.id, source.title, source.read,
                          source.url);
    } else {
      text += fmt::format("  {}: {}\n", source.title, source.test);
    }
  }
  return text;
}

std::string StatementInWords(std::string_view what, const SupportStatement& statement) {
  std::string text = fmt::format("    {:22} {}", what, ToString(statement.answer));
  if (statement.up_to > 0) text += fmt::format(" up to {}", statement.up_to);
  if (!statement.note.empty()) text += fmt::format("; {}", statement.note);
  if (!statement.sources.empty()) {
    text += fmt::format(" [{}]", fmt::join(statement.sources, ", "));
  }
  return text + '\n';
}

std::string RowInWords(const SupportRow& row) {
  std::string text = fmt::format(
      "  {}\n", row.attention_backend == "*" ? "any attention backend" : row.attention_backend);
  for (const SupportFeature& feature : SupportFeatures()) {
    const auto it = std::find_if(
        row.statements.begin(), row.statements.end(),
        [&](const SupportStatement& statement) { return statement.feature == feature.name; });
    text +=
        StatementInWords(feature.heading, it == row.statements.end() ? SupportStatement{} : *it);
  }
  return text;
}

/// Those of the table's sources on which the range rests.
std::vector<SupportSource> SourcesOf(const SupportTable& table, const SupportRange& range) {
  std::set<std::string> cited;
  const auto cite = [&](const SupportStatement& statement) {
    cited.insert(statement.sources.begin(), statement.sources.end());
  };
  cite(range.default_mode);
  cite(range.other_backends);
  for (const SupportRow& row : range.rows) {
    for (const SupportStatement& statement : row.statements) cite(statement);
  }
  std::vector<SupportSource> sources;
  for (const SupportSource& source : table.sources) {
    if (cited.contains(source.id)) sources.push_back(source);
  }
  return sources;
}

std::string TableInWords(const SupportTable& table, const std::string& release) {
  const SupportRange* wanted = FindRange(table, release);
  if (wanted == nullptr && !release.empty()) {
    return fmt::format("{} {}: nothing is documented of this release\n", table.engine,
                       OneLine(release));
  }
  std::string text;
  for (const SupportRange& range : table.releases) {
    if (wanted != nullptr && wanted != &range) continue;
    text += fmt::format("{} {}, with {}\n", table.engine, RangeInWords(range), table.mode);
    for (const SupportRow& row : range.rows) text += RowInWords(row);
    text += StatementInWords("other attention backends", range.other_backends);
    text += StatementInWords("without the mode", range.default_mode);
  }
  return text + SourcesInWords(wanted != nullptr ? SourcesOf(table, *wanted) : table.sources);
}

std::string FindingInWords(const SupportFinding& finding) {
  std::string text = SupportInWords(finding) + '\n';
  for (const FeatureFinding& feature : finding.features) {
    constexpr std::string_view kUses[] = {"off", "on", "not known"};
    text += fmt::format("  {:22} {:10} {}", feature.feature,
                        kUses[static_cast<size_t>(feature.use)], ToString(feature.answer));
    if (!feature.note.empty()) text += "; " + feature.note;
    if (!feature.sources.empty()) text += fmt::format(" [{}]", fmt::join(feature.sources, ", "));
    text += '\n';
  }
  return text + SourcesInWords(finding.sources);
}

std::vector<SupportTable> TablesOf(const std::string& engine) {
  std::vector<SupportTable> tables = AllSupportTables();
  if (engine.empty()) return tables;
  std::string names;
  for (const SupportTable& table : tables) {
    if (table.engine == engine) return {table};
    names += (names.empty() ? "" : ", ") + table.engine;
  }
  throw Error(ErrorCode::kUsage, fmt::format("--engine-name {}: no support table; there are {}",
                                             OneLine(engine), names));
}

}  // namespace

ExitStatus SupportCommand(const Options& options) {
  const SupportQuery& query = options.support;
  const std::string engine = FieldValue(query.declared, "engine.name");
  const std::string release = FieldValue(query.declared, "engine.version");
  const std::vector<SupportTable> tables = TablesOf(engine);
  if (query.is_combination && engine.empty()) {
    throw Error(ErrorCode::kUsage, "support: a combination needs --engine-name");
  }
  if (query.json && !query.is_combination) {
    throw Error(ErrorCode::kUsage, "support --json: needs a combination to look up");
  }
  if (query.is_combination) {
    Manifest subject = query.declared;
    if (FieldValue(subject, "engine.mode").empty()) {
      subject.push_back({"engine.mode", "deterministic", FieldSource::kDeclared});
    }
    const SupportFinding finding = LookUpSupport(subject, query.non_greedy, &tables.front());
    PrintResult(query.json ? SupportToJson(finding) + '\n' : FindingInWords(finding));
    return ExitStatus::kPass;
  }
  std::string text;
  for (const SupportTable& table : tables) {
    text += (text.empty() ? "" : "\n") + TableInWords(table, release);
  }
  PrintResult(text);
  return ExitStatus::kPass;
}

}  // namespace detcheck
