// detcheck manifest: what is tested, and with what.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cli/commands.h"
#include "cli/execute.h"
#include "cli/harness_manifest.h"
#include "cli/print.h"
#include "fixtures/canonical_json.h"
#include "fixtures/file_io.h"

namespace detcheck {
namespace {

std::string SourceName(FieldSource source) {
  switch (source) {
    case FieldSource::kObserved:
      return "observed";
    case FieldSource::kClaimed:
      return "claimed";
    case FieldSource::kDeclared:
      return "declared";
    case FieldSource::kUnknown:
      return "unknown";
  }
  return "";
}

std::string ToText(const std::string& heading, const Manifest& manifest) {
  size_t width = 0;
  for (const ManifestField& field : manifest) width = std::max(width, field.name.size());
  std::string text = heading + '\n';
  for (const ManifestField& field : manifest) {
    text += fmt::format("  {:{}}  {:8}  {}\n", field.name, width, SourceName(field.source),
                        OneLine(field.value));
  }
  return text;
}

std::string ToJson(const Manifest& manifest) {
  std::string json;
  for (const ManifestField& field : manifest) {
    json += json.empty() ? "{\"name\":" : ",{\"name\":";
    AppendCanonicalString(field.name, &json);
    json += ",\"source\":\"" + SourceName(field.source) + "\",\"value\":";
    AppendCanonicalString(field.value, &json);
    json += '}';
  }
  return '[' + json + ']';
}

}  // namespace

ExitStatus ManifestCommand(const Options& options) {
  const Manifest subject = Target(options.target).description.subject;
  const Manifest harness = HarnessManifest(options.arguments);
  if (options.json) {
    PrintResult("{\"harness\":" + ToJson(harness) + ",\"subject\":" + ToJson(subject) + "}\n");
  } else {
    PrintResult(ToText("harness", harness) + '\n' + ToText("subject", subject));
  }
  return ExitStatus::kPass;
}

}  // namespace detcheck
