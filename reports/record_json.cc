#include "reports/record_json.h"

#include <limits>

#include "engine/base/utf8.h"
#include "reports/base64.h"

namespace detcheck {
namespace {

constexpr int kMaxInt = std::numeric_limits<int>::max();
constexpr int64_t kMaxStep = int64_t{1} << 53;

EngineStepSpan::Row ReadRow(const JsonValue& value) {
  if (value.Size() != 3) value.Fail("must be [item, num_tokens, decode]");
  return {value[0].Int(0, kMaxInt), value[1].Int(0, kMaxInt), value[2].Bool()};
}

void WriteTextValue(std::string_view text, JsonText* json) {
  if (IsUtf8(text)) return json->String(text);
  json->BeginObject();
  json->Key("base64");
  json->Plain(Base64(text));
  json->EndObject();
}

}  // namespace

void WriteWitness(const Witness& witness, JsonText* json) {
  json->BeginObject();
  json->Field("cached_tokens", witness.cached_tokens);
  json->FieldUnlessEmpty("chunk_ends", witness.chunk_ends);
  json->Field("formed_size", witness.formed_size);
  json->Field("interleaved_prefill_tokens", witness.interleaved_prefill_tokens);
  json->Field("preemptions", witness.preemptions);
  json->Field("same_step_prefill_tokens", witness.same_step_prefill_tokens);
  json->Field("slot", witness.slot);
  json->Key("source");
  json->Plain(WordOf(kWitnessSourceWords, witness.source));
  json->EndObject();
}

Witness ReadWitness(const JsonValue& value) {
  value.CheckFields({"cached_tokens", "chunk_ends", "formed_size", "interleaved_prefill_tokens",
                     "preemptions", "same_step_prefill_tokens", "slot", "source"});
  Witness witness;
  witness.source = value.At("source").Word(kWitnessSourceWords);
  witness.formed_size = OptionalIntOf(value, "formed_size");
  witness.slot = OptionalIntOf(value, "slot");
  witness.cached_tokens = OptionalIntOf(value, "cached_tokens");
  witness.same_step_prefill_tokens = OptionalIntOf(value, "same_step_prefill_tokens");
  witness.interleaved_prefill_tokens = OptionalIntOf(value, "interleaved_prefill_tokens");
  witness.preemptions = OptionalIntOf(value, "preemptions");
  if (const auto ends = value.Find("chunk_ends")) witness.chunk_ends = ends->Ints(0, kMaxInt);
  return witness;
}

void WriteEngineSteps(const std::vector<EngineStepSpan>& spans, JsonText* json) {
  json->BeginArray();
  for (const EngineStepSpan& span : spans) {
    json->BeginObject();
    json->Field("first_step", span.first_step);
    json->Field("num_steps", span.num_steps);
    json->Key("rows");
    json->BeginArray();
    for (const EngineStepSpan::Row& row : span.rows) {
      json->BeginArray();
      json->Int(row.item);
      json->Int(row.num_tokens);
      json->Bool(row.decode);
      json->EndArray();
    }
    json->EndArray();
    json->EndObject();
  }
  json->EndArray();
}

std::vector<EngineStepSpan> ReadEngineSteps(const JsonValue& value) {
  std::vector<EngineStepSpan> spans;
  for (const JsonValue& item : value.Items()) {
    item.CheckFields({"first_step", "num_steps", "rows"});
    EngineStepSpan span;
    span.first_step = item.At("first_step").Int64(0, kMaxStep);
    span.num_steps = item.At("num_steps").Int64(0, kMaxStep);
    for (const JsonValue& row : item.At("rows").Items()) span.rows.push_back(ReadRow(row));
    spans.push_back(std::move(span));
  }
  return spans;
}

void WriteTimes(const CompletionTimes& times, JsonText* json) {
  json->BeginArray();
  json->Double(times.sent);
  json->Double(times.first_token);
  json->Double(times.last_token);
  json->EndArray();
}

CompletionTimes ReadTimes(const JsonValue& value) {
  if (value.Size() != 3) value.Fail("must be [sent, first token, last token]");
  return {value[0].Double(), value[1].Double(), value[2].Double()};
}

void WriteText(std::string_view name, std::string_view text, JsonText* json) {
  json->Key(name);
  WriteTextValue(text, json);
}

std::string ReadText(const JsonValue& value) {
  if (!value.IsObject()) return value.String();
  value.CheckFields({"base64"});
  const JsonValue base64 = value.At("base64");
  std::optional<std::string> text = FromBase64(base64.String());
  if (!text) base64.Fail("is not base64");
  return *std::move(text);
}

void WriteTextList(std::string_view name, const std::vector<std::string>& texts, JsonText* json) {
  json->Key(name);
  json->BeginArray();
  for (const std::string& text : texts) WriteTextValue(text, json);
  json->EndArray();
}

std::vector<std::string> ReadTextList(const JsonValue& value) {
  std::vector<std::string> texts;
  for (const JsonValue& text : value.Items()) texts.push_back(ReadText(text));
  return texts;
}

std::optional<int> OptionalIntOf(const JsonValue& value, std::string_view field) {
  const auto found = value.Find(field);
  return found ? std::optional(found->Int(0, kMaxInt)) : std::nullopt;
}

std::optional<std::string> OptionalTextOf(const JsonValue& value, std::string_view field) {
  const auto found = value.Find(field);
  return found ? std::optional(ReadText(*found)) : std::nullopt;
}

}  // namespace detcheck
