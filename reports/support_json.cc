#include "reports/support_json.h"

#include <utility>

#include "fixtures/support_words.h"
#include "reports/record_json.h"

namespace detcheck {
namespace {

constexpr std::pair<FeatureUse, std::string_view> kUseWordList[] = {
    {FeatureUse::kOff, "off"}, {FeatureUse::kOn, "on"}, {FeatureUse::kUnknown, "unknown"}};
constexpr WordTable<FeatureUse> kUseWords = kUseWordList;

void WriteTextUnlessEmpty(std::string_view name, const std::string& text, JsonText* json) {
  if (!text.empty()) WriteText(name, text, json);
}

std::string TextOrNothing(const JsonValue& value, std::string_view field) {
  return OptionalTextOf(value, field).value_or("");
}

void WriteFeature(const FeatureFinding& feature, JsonText* json) {
  json->BeginObject();
  json->Field("answer", WordOf(kSupportAnswerWords, feature.answer));
  WriteText("feature", feature.feature, json);
  WriteTextUnlessEmpty("note", feature.note, json);
  json->Key("sources");
  json->BeginArray();
  for (const std::string& source : feature.sources) json->String(source);
  json->EndArray();
  json->Field("use", WordOf(kUseWords, feature.use));
  json->EndObject();
}

FeatureFinding ReadFeature(const JsonValue& value) {
  value.CheckFields({"answer", "feature", "note", "sources", "use"});
  FeatureFinding feature;
  feature.answer = value.At("answer").Word(kSupportAnswerWords);
  feature.feature = ReadText(value.At("feature"));
  feature.note = TextOrNothing(value, "note");
  for (const JsonValue& source : value.At("sources").Items()) {
    feature.sources.push_back(source.String());
  }
  feature.use = value.At("use").Word(kUseWords);
  return feature;
}

void WriteSource(const SupportSource& source, JsonText* json) {
  json->BeginObject();
  WriteText("id", source.id, json);
  WriteTextUnlessEmpty("read", source.read, json);
  WriteTextUnlessEmpty("test", source.test, json);
  WriteText("title", source.title, json);
  WriteTextUnlessEmpty("url", source.url, json);
  json->EndObject();
}

SupportSource ReadSource(const JsonValue& value) {
  value.CheckFields({"id", "read", "test", "title", "url"});
  return {.id = ReadText(value.At("id")),
          .title = ReadText(value.At("title")),
          .url = TextOrNothing(value, "url"),
          .read = TextOrNothing(value, "read"),
          .test = TextOrNothing(value, "test")};
}

}  // namespace

void WriteSupport(const SupportFinding& finding, JsonText* json) {
  json->BeginObject();
  json->Field("answer", WordOf(kSupportAnswerWords, finding.answer));
  WriteTextUnlessEmpty("attention_backend", finding.attention_backend, json);
  WriteText("engine", finding.engine, json);
  json->Key("features");
  json->BeginArray();
  for (const FeatureFinding& feature : finding.features) WriteFeature(feature, json);
  json->EndArray();
  WriteTextUnlessEmpty("reason", finding.reason, json);
  WriteTextUnlessEmpty("releases", finding.releases, json);
  json->Key("sources");
  json->BeginArray();
  for (const SupportSource& source : finding.sources) WriteSource(source, json);
  json->EndArray();
  WriteTextUnlessEmpty("version", finding.version, json);
  json->EndObject();
}

std::string SupportToJson(const SupportFinding& finding) {
  JsonText json;
  WriteSupport(finding, &json);
  return json.Take();
}

SupportFinding ReadSupport(const JsonValue& value) {
  value.CheckFields({"answer", "attention_backend", "engine", "features", "reason", "releases",
                     "sources", "version"});
  SupportFinding finding;
  finding.answer = value.At("answer").Word(kSupportAnswerWords);
  finding.attention_backend = TextOrNothing(value, "attention_backend");
  finding.engine = ReadText(value.At("engine"));
  finding.reason = TextOrNothing(value, "reason");
  finding.releases = TextOrNothing(value, "releases");
  finding.version = TextOrNothing(value, "version");
  for (const JsonValue& feature : value.At("features").Items()) {
    finding.features.push_back(ReadFeature(feature));
  }
  for (const JsonValue& source : value.At("sources").Items()) {
    finding.sources.push_back(ReadSource(source));
  }
  return finding;
}

}  // namespace detcheck
