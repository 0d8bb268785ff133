#include "cli/remote_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "cli/number.h"
#include "engine/base/error.h"
#include "engine/base/private_names.h"
#include "engine/remote/adapter.h"
#include "engine/remote/endpoint.h"
#include "engine/tokenizer/tokenizer.h"
#include "fixtures/file_io.h"
#include "reports/manifest_fields.h"

namespace detcheck {
namespace {

constexpr double kLongestTimeout_s = 86400.0;

OptionAdder::Words<std::string> ApiWords() {
  OptionAdder::Words<std::string> words = {{"auto", "auto"}};
  for (const std::string_view name : AdapterNames()) {
    words.emplace_back(std::string(name), std::string(name));
  }
  return words;
}

std::pair<std::string, std::string> ParseDeclared(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (equals == std::string::npos || name.empty() || equals + 1 == text.size()) {
    throw Error(ErrorCode::kUsage, fmt::format("--declare {}: not FIELD=VALUE", OneLine(text)));
  }
  const auto fields = SubjectFields();
  if (std::none_of(fields.begin(), fields.end(),
                   [&](const FieldMeaning& field) { return field.name == name; })) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("--declare {}: no such field; detcheck manifest lists them", OneLine(name)));
  }
  return {name, text.substr(equals + 1)};
}

// One server twice would be held against itself.
void CheckReplicas(const TargetOptions& target) {
  std::set<std::string> urls = {ParseEndpoint(target.remote.endpoint).Url("")};
  for (const std::string& endpoint : target.replicas) {
    if (urls.insert(ParseEndpoint(endpoint).Url("")).second) continue;
    throw Error(ErrorCode::kUsage, "--endpoint " + UrlInMessage(endpoint) +
                                       ": given twice; replicas are different servers");
  }
}

}  // namespace

void AddRemoteOptions(OptionAdder* add, RemoteOptions* remote, const std::string& what_for,
                      std::vector<std::string>* replicas) {
  add->BeginGroup("Target: a server");
  add->Paths(
      "--endpoint", "URL", "",
      what_for + (replicas == nullptr ? "" : ";\nrepeatable: replicas, held against each other"),
      [=](const std::string& text) {
        ParseEndpoint(text);
        if (remote->endpoint.empty()) {
          remote->endpoint = text;
        } else if (replicas != nullptr) {
          replicas->push_back(text);
        } else {
          throw Error(ErrorCode::kUsage, "--endpoint: given twice");
        }
      },
      [](const std::string& text) { return ParseEndpoint(text).label; });
  add->Word<std::string>("--api", &remote->api, ApiWords(), remote->api,
                         "auto: looks at the server");
  add->Value(
      "--served-model", "NAME", "the one that it lists", "model to ask for",
      [=](const std::string& text) { remote->served_model = text; }, PublicName);
  add->Value("--api-key-env", "VARIABLE", "", "environment variable that holds the key",
             [=](const std::string& text) { remote->api_key_env = text; });
  add->Path("--ca-cert", "FILE", "the system's", "certificate authorities to trust, PEM",
            [=](const std::string& text) { remote->ca_cert = text; });
  add->Flag("--insecure", "take any certificate", [=] { remote->insecure = true; });
  add->Paths("--declare", "FIELD=VALUE", "",
             "manifest field that the server does not tell; repeatable",
             [=](const std::string& text) { remote->declared.push_back(ParseDeclared(text)); });
}

void AddAnsweringServerOptions(OptionAdder* add, RemoteOptions* remote) {
  add->Value("--timeout", "SECONDS", "600", "longest wait for one answer",
             [=](const std::string& text) {
               remote->timeout_s = ParseReal("--timeout", text, 0.001, kLongestTimeout_s);
             });
  add->Path("--tokenizer", "DIR|FILE", "",
            "tokenizer.json of the model: its token IDs become text\nfor servers that take none",
            [=](const std::string& text) { remote->tokenizer = Tokenizer::FileOf(text); });
}

void CheckRemoteOptions(const TargetOptions& target) {
  const RemoteOptions& remote = target.remote;
  const RemoteOptions none;
  if (remote.endpoint.empty()) {
    const bool any = remote.api != none.api || !remote.served_model.empty() ||
                     !remote.api_key_env.empty() || remote.timeout_s != none.timeout_s ||
                     !remote.ca_cert.empty() || remote.insecure || !remote.tokenizer.empty() ||
                     !remote.declared.empty();
    if (any) throw Error(ErrorCode::kUsage, "an option of a server: needs --endpoint URL");
    return;
  }
  if (target.engine != TargetOptions().engine || !(target.embedded == EngineOptions())) {
    throw Error(ErrorCode::kUsage,
                "--endpoint: does not go with options of the embedded engine, which is not run");
  }
  CheckReplicas(target);
}

}  // namespace detcheck
