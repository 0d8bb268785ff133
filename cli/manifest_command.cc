// detcheck manifest: what is tested, and with what.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cli/commands.h"
#include "cli/harness_manifest.h"
#include "cli/print.h"
#include "cli/targets.h"
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
  Targets targets(options.target);
  Manifest harness = HarnessManifest(options.arguments);
  const std::string& choice = targets.each().front().choice;
  if (!choice.empty()) {
    harness.push_back({"detcheck.engine_choice", choice, FieldSource::kObserved});
  }
  std::string text = ToText("harness", harness);
  std::string json;
  for (size_t i = 0; i < targets.each().size(); ++i) {
    const Target& target = targets.each()[i];
    if (target.failure) throw Error(*target.failure);
    const Manifest& subject = target.description.subject;
    const std::string name = NameOfReplica(static_cast<int>(i));
    text += '\n' + ToText(targets.AreReplicas() ? "subject, " + name : "subject", subject);
    json += (json.empty() ? "" : ",") + ToJson(subject);
  }
  if (targets.AreReplicas()) {
    json = "\"subjects\":[" + json + "]}\n";
  } else {
    json = "\"subject\":" + json + "}\n";
  }
  PrintResult(options.json ? "{\"harness\":" + ToJson(harness) + "," + json : text);
  return ExitStatus::kPass;
}

}  // namespace detcheck
