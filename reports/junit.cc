#include "reports/junit.h"

#include <fmt/format.h>

#include <string_view>

#include "reports/json_text.h"

namespace detcheck {
namespace {

// Readers keep a whole file in memory; of one case nothing longer is of use to a person.
constexpr size_t kMaxDetailBytes = 64 << 10;

// UTF-8 of the characters that XML 1.0 allows; others are U+FFFD.
std::string XmlText(std::string_view text) {
  const std::string utf8 = ToUtf8(text.substr(0, kMaxDetailBytes));
  std::string xml;
  xml.reserve(utf8.size());
  for (size_t i = 0; i < utf8.size(); ++i) {
    const auto byte = static_cast<unsigned char>(utf8[i]);
    const std::string_view three = std::string_view(utf8).substr(i, 3);
    if (three == "\xEF\xBF\xBE" || three == "\xEF\xBF\xBF") {
      xml += "\xEF\xBF\xBD";
      i += 2;
    } else if (utf8[i] == '&') {
      xml += "&amp;";
    } else if (utf8[i] == '<') {
      xml += "&lt;";
    } else if (utf8[i] == '>') {
      xml += "&gt;";
    } else if (utf8[i] == '"') {
      xml += "&quot;";
    } else if (utf8[i] == '\n') {
      xml += '\n';
    } else if (utf8[i] == '\t' || utf8[i] == '\r') {
      xml += fmt::format("&#{};", byte);
    } else if (byte < 0x20) {
      xml += "\xEF\xBF\xBD";
    } else {
      xml += utf8[i];
    }
  }
  return xml;
}

// In an attribute a line break would be read as a space.
std::string Attribute(std::string_view name, std::string_view value) {
  std::string text = XmlText(value);
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; ++at) {
    text.replace(at, 1, "&#10;");
  }
  return fmt::format(" {}=\"{}\"", name, text);
}

// What a case that did not pass is to a reader; a case that does not decide must not fail a job.
std::string_view ElementOf(const GateCase& one) {
  if (!one.decides && one.verdict != Verdict::kPass) return "skipped";
  switch (one.verdict) {
    case Verdict::kFail:
      return "failure";
    case Verdict::kError:
      return "error";
    case Verdict::kInconclusive:
    case Verdict::kUnsupported:
      return "skipped";
    case Verdict::kPass:
      break;
  }
  return "";
}

struct Counts {
  int tests = 0;
  int failures = 0;
  int errors = 0;
  int skipped = 0;
  double seconds = 0.0;

  void Add(const GateCase& one) {
    ++tests;
    seconds += one.duration_s;
    const std::string_view element = ElementOf(one);
    if (element == "failure") ++failures;
    if (element == "error") ++errors;
    if (element == "skipped") ++skipped;
  }
};

std::string AttributesOf(const Counts& counts) {
  return fmt::format(R"( tests="{}" failures="{}" errors="{}" time="{:.3f}")", counts.tests,
                     counts.failures, counts.errors, counts.seconds);
}

std::string CaseXml(const GateSuite& suite, const GateCase& one) {
  std::string xml = "    <testcase" + Attribute("classname", suite.name) +
                    Attribute("name", one.name) + fmt::format(" time=\"{:.3f}\"", one.duration_s);
  if (one.verdict == Verdict::kPass) {
    if (one.detail.empty()) return xml + "/>\n";
    return xml + ">\n      <system-out>" + XmlText(one.detail) + "</system-out>\n    </testcase>\n";
  }
  const std::string_view element = ElementOf(one);
  const std::string message =
      one.decides ? one.message : fmt::format("{}: {}", VerdictInWords(one), one.message);
  xml += fmt::format(">\n      <{}{}", element, Attribute("message", message));
  if (element == "skipped") return xml + "/>\n    </testcase>\n";
  return xml + Attribute("type", one.kind) +
         fmt::format(">\n{}</{}>\n    </testcase>\n", XmlText(one.detail), element);
}

std::string SuiteXml(const GateSuite& suite) {
  Counts counts;
  for (const GateCase& one : suite.cases) counts.Add(one);
  std::string xml = "  <testsuite" + Attribute("name", suite.name) + AttributesOf(counts) +
                    fmt::format(R"( skipped="{}")", counts.skipped);
  // Without a time zone: UTC is meant, and readers refuse the letter.
  const std::string& started = suite.started_utc;
  if (!started.empty()) xml += Attribute("timestamp", started.substr(0, started.find('Z')));
  xml += ">\n";
  if (!suite.properties.empty()) {
    xml += "    <properties>\n";
    for (const auto& [name, value] : suite.properties) {
      xml += "      <property" + Attribute("name", name) + Attribute("value", value) + "/>\n";
    }
    xml += "    </properties>\n";
  }
  for (const GateCase& one : suite.cases) xml += CaseXml(suite, one);
  return xml + "  </testsuite>\n";
}

}  // namespace

std::string RenderJunit(const std::vector<GateSuite>& suites) {
  Counts counts;
  for (const GateSuite& suite : suites) {
    for (const GateCase& one : suite.cases) counts.Add(one);
  }
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" +
                    Attribute("name", "detcheck") + AttributesOf(counts) + ">\n";
  for (const GateSuite& suite : suites) xml += SuiteXml(suite);
  return xml + "</testsuites>\n";
}

}  // namespace detcheck
