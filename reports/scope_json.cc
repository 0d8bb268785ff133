#include "reports/scope_json.h"

#include <algorithm>
#include <limits>

#include "fixtures/plan_words.h"

namespace detcheck {
namespace {

constexpr int kMaxInt = std::numeric_limits<int>::max();
constexpr int64_t kMaxValue = int64_t{1} << 53;

// What a target or a file said need not be UTF-8.
void WriteTexts(std::string_view name, const std::vector<std::string>& texts, JsonText* json) {
  json->Key(name);
  json->BeginArray();
  for (const std::string& text : texts) json->String(ToUtf8(text));
  json->EndArray();
}

void WriteFacts(std::string_view name, const std::vector<ScopeFact>& facts, JsonText* json) {
  json->Key(name);
  json->BeginArray();
  for (const ScopeFact& fact : facts) {
    json->BeginObject();
    json->Field("name", ToUtf8(fact.name));
    json->Field("value", ToUtf8(fact.value));
    json->EndObject();
  }
  json->EndArray();
}

void WriteVoided(const std::vector<VoidedAttempt>& voided, JsonText* json) {
  json->Key("voided");
  json->BeginArray();
  for (const VoidedAttempt& one : voided) {
    json->BeginObject();
    json->Field("attempt", one.attempt);
    json->Field("step", one.step);
    json->Field("why", ToUtf8(one.why));
    json->EndObject();
  }
  json->EndArray();
}

void WriteAxis(const ScopeAxis& axis, JsonText* json) {
  json->BeginObject();
  json->Field("name", ToUtf8(axis.name));
  json->Key("values");
  json->BeginArray();
  for (const ScopeAxis::Value& value : axis.values) {
    json->BeginObject();
    json->Field("n", value.n);
    json->Field("value", value.value);
    json->FieldUnlessEmpty("word", value.word);
    json->EndObject();
  }
  json->EndArray();
  json->EndObject();
}

void WriteWord(const WordScope& word, JsonText* json) {
  json->BeginObject();
  json->FieldUnlessEmpty("bound", word.bound);
  json->Key("modes");
  json->BeginArray();
  for (const Mode mode : word.modes) json->String(ToString(mode));
  json->EndArray();
  json->Field("n", word.n);
  json->Key("varied");
  json->BeginArray();
  for (const ScopeAxis& axis : word.varied) WriteAxis(axis, json);
  json->EndArray();
  json->FieldUnlessEmpty("why_not", ToUtf8(word.why_not));
  json->Field("word", ToString(word.word));
  json->EndObject();
}

std::string TextOr(const JsonValue& value, std::string_view field) {
  const auto found = value.Find(field);
  return found ? found->NonEmptyString() : "";
}

std::vector<std::string> ReadTexts(const JsonValue& value) {
  std::vector<std::string> texts;
  for (const JsonValue& text : value.Items()) texts.push_back(text.String());
  return texts;
}

std::vector<ScopeFact> ReadFacts(const JsonValue& value) {
  std::vector<ScopeFact> facts;
  for (const JsonValue& fact : value.Items()) {
    fact.CheckFields({"name", "value"});
    facts.push_back({fact.At("name").String(), fact.At("value").String()});
  }
  return facts;
}

std::vector<VoidedAttempt> ReadVoided(const JsonValue& value, const Plan& plan) {
  std::vector<VoidedAttempt> voided;
  for (const JsonValue& one : value.Items()) {
    one.CheckFields({"attempt", "step", "why"});
    voided.push_back({one.At("step").Int(0, static_cast<int>(plan.steps.size()) - 1),
                      one.At("attempt").Int(0, kMaxInt), one.At("why").NonEmptyString()});
  }
  return voided;
}

ScopeAxis ReadAxis(const JsonValue& value) {
  value.CheckFields({"name", "values"});
  ScopeAxis axis;
  axis.name = value.At("name").String();
  for (const JsonValue& one : value.At("values").Items()) {
    one.CheckFields({"n", "value", "word"});
    axis.values.push_back({one.At("value").Int64(-kMaxValue, kMaxValue), TextOr(one, "word"),
                           one.At("n").Int(1, kMaxInt)});
  }
  return axis;
}

WordScope ReadWord(const JsonValue& value, ScopeWord expected) {
  value.CheckFields({"bound", "modes", "n", "varied", "why_not", "word"});
  WordScope word;
  word.word = value.At("word").Word(kScopeWords);
  if (word.word != expected) value.At("word").Fail("must be \"" + ToString(expected) + "\" here");
  word.n = value.At("n").Int(0, kMaxInt);
  for (const JsonValue& mode : value.At("modes").Items()) {
    word.modes.push_back(mode.Word(kModeWords));
  }
  for (const JsonValue& axis : value.At("varied").Items()) word.varied.push_back(ReadAxis(axis));
  word.bound = TextOr(value, "bound");
  word.why_not = TextOr(value, "why_not");
  if ((word.n == 0) != !word.why_not.empty()) {
    value.Fail("a word has n above 0, or why_not, and never both");
  }
  return word;
}

}  // namespace

void WriteScope(const Scope& scope, JsonText* json) {
  json->BeginObject();
  WriteFacts("held", scope.held, json);
  WriteFacts("holds_for", scope.holds_for, json);
  WriteTexts("not_tested", scope.not_tested, json);
  WriteTexts("notes", scope.notes, json);
  WriteVoided(scope.voided, json);
  json->Key("words");
  json->BeginArray();
  for (const WordScope& word : scope.words) WriteWord(word, json);
  json->EndArray();
  json->EndObject();
}

Scope ReadScope(const JsonValue& value, const Plan& plan) {
  value.CheckFields({"held", "holds_for", "not_tested", "notes", "voided", "words"});
  Scope scope;
  scope.held = ReadFacts(value.At("held"));
  scope.holds_for = ReadFacts(value.At("holds_for"));
  scope.not_tested = ReadTexts(value.At("not_tested"));
  scope.notes = ReadTexts(value.At("notes"));
  scope.voided = ReadVoided(value.At("voided"), plan);
  const JsonValue words = value.At("words");
  const std::vector<ScopeWord>& all = AllScopeWords();
  if (words.Size() != all.size()) {
    words.Fail("must have the " + std::to_string(all.size()) + " scope words");
  }
  for (size_t i = 0; i < all.size(); ++i) scope.words.push_back(ReadWord(words[i], all[i]));
  return scope;
}

}  // namespace detcheck
