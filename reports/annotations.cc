#include "reports/annotations.h"

#include <fmt/format.h>

#include <string_view>

#include "reports/json_text.h"

namespace detcheck {
namespace {

constexpr size_t kMaxOfAKind = 10;
constexpr size_t kMaxMessageBytes = 4096;

void ReplaceAll(std::string_view what, std::string_view by, std::string* text) {
  for (size_t at = 0; (at = text->find(what, at)) != std::string::npos; at += by.size()) {
    text->replace(at, what.size(), by);
  }
}

// The escapes of workflow commands; in a property two more characters have a meaning.
std::string Escaped(std::string_view text, bool is_property) {
  std::string escaped(text);
  ReplaceAll("%", "%25", &escaped);
  ReplaceAll("\r", "%0D", &escaped);
  ReplaceAll("\n", "%0A", &escaped);
  if (is_property) {
    ReplaceAll(":", "%3A", &escaped);
    ReplaceAll(",", "%2C", &escaped);
  }
  return escaped;
}

std::string Line(std::string_view kind, std::string_view title, std::string_view message) {
  return fmt::format("::{} title={}::{}\n", kind, Escaped(title, true),
                     Escaped(ToUtf8(message.substr(0, kMaxMessageBytes)), false));
}

std::string MessageOf(const GateCase& one) {
  const std::string head = fmt::format("{}: {}", VerdictInWords(one), one.message);
  return one.detail.empty() ? head : head + '\n' + one.detail;
}

// All lines of one kind.
std::string LinesOf(std::string_view kind, const std::vector<GateSuite>& suites,
                    bool (*is_of_kind)(const GateCase&)) {
  std::vector<std::string> lines;
  for (const GateSuite& suite : suites) {
    for (const GateCase& one : suite.cases) {
      if (!is_of_kind(one)) continue;
      lines.push_back(Line(kind, suite.name + ": " + one.name, MessageOf(one)));
    }
  }
  std::string text;
  const bool all_fit = lines.size() <= kMaxOfAKind;
  const size_t num_listed = all_fit ? lines.size() : kMaxOfAKind - 1;
  for (size_t i = 0; i < num_listed; ++i) text += lines[i];
  if (all_fit) return text;
  return text + Line(kind, "detcheck", fmt::format("and {} more", lines.size() - num_listed));
}

bool IsWrong(const GateCase& one) {
  return one.decides && (one.verdict == Verdict::kFail || one.verdict == Verdict::kError);
}

bool IsNotShown(const GateCase& one) {
  return one.verdict != Verdict::kPass && !IsWrong(one);
}

// One line for each report: what was tested, and what was not.
std::string ScopeLines(const std::vector<GateSuite>& suites) {
  std::string lines;
  size_t num_lines = 0;
  for (const GateSuite& suite : suites) {
    std::string message;
    for (const auto& [name, text] : suite.properties) {
      if (!name.starts_with(kScopeProperty)) continue;
      message += fmt::format("{}{}: {}", message.empty() ? "" : "\n",
                             std::string_view(name).substr(kScopeProperty.size()), text);
    }
    if (message.empty() || ++num_lines > kMaxOfAKind) continue;
    lines += Line("notice", suite.name + ": scope", message);
  }
  return lines;
}

}  // namespace

std::string RenderAnnotations(const std::vector<GateSuite>& suites) {
  return LinesOf("error", suites, IsWrong) + LinesOf("warning", suites, IsNotShown) +
         ScopeLines(suites);
}

}  // namespace detcheck
