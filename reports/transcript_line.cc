#include "reports/transcript_line.h"

#include <limits>

#include "fixtures/json_reader.h"
#include "reports/json_text.h"
#include "reports/packed_logprobs.h"
#include "reports/record_json.h"

namespace detcheck {
namespace {

constexpr std::string_view kSchema = "detcheck.transcript/1";
constexpr int kMinInt = std::numeric_limits<int>::min();
constexpr int kMaxInt = std::numeric_limits<int>::max();

void WriteCompletion(const Completion& completion, JsonText* json) {
  json->BeginObject();
  json->Field("completion_tokens", completion.completion_tokens);
  if (!completion.error.empty()) WriteText("error", completion.error, json);
  json->Key("finish");
  json->Plain(WordOf(kFinishReasonWords, completion.finish_reason));
  json->Key("ids");
  json->Ints(completion.token_ids);
  if (!completion.logprobs.empty()) {
    json->Key("logprobs");
    WriteLogprobs(completion.logprobs, json);
  }
  json->Field("prompt_tokens", completion.prompt_tokens);
  if (completion.text) WriteText("text", *completion.text, json);
  json->Key("times");
  WriteTimes(completion.times, json);
  if (!completion.token_bytes.empty()) WriteTextList("token_bytes", completion.token_bytes, json);
  json->Key("witness");
  WriteWitness(completion.witness, json);
  json->EndObject();
}

Completion ReadCompletion(const JsonValue& value) {
  value.CheckFields({"completion_tokens", "error", "finish", "ids", "logprobs", "prompt_tokens",
                     "text", "times", "token_bytes", "witness"});
  Completion completion;
  completion.token_ids = value.At("ids").Ints(kMinInt, kMaxInt);
  if (const auto logprobs = value.Find("logprobs")) completion.logprobs = ReadLogprobs(*logprobs);
  completion.text = OptionalTextOf(value, "text");
  completion.completion_tokens = OptionalIntOf(value, "completion_tokens");
  if (const auto bytes = value.Find("token_bytes")) completion.token_bytes = ReadTextList(*bytes);
  completion.finish_reason = value.At("finish").Word(kFinishReasonWords);
  completion.error = OptionalTextOf(value, "error").value_or("");
  completion.prompt_tokens = OptionalIntOf(value, "prompt_tokens");
  completion.witness = ReadWitness(value.At("witness"));
  completion.times = ReadTimes(value.At("times"));
  return completion;
}

}  // namespace

std::string TranscriptHeaderLine(const std::string& plan_digest, const std::string& identity) {
  JsonText json;
  json.BeginObject();
  json.Field("identity", identity);
  json.Field("plan_sha256", plan_digest);
  json.Field("schema", kSchema);
  json.EndObject();
  return json.Take();
}

std::string TranscriptRecordLine(const StepRecord& record) {
  JsonText json;
  json.BeginObject();
  json.Field("attempt", record.attempt);
  if (!record.completions.empty()) {
    json.Key("completions");
    json.BeginArray();
    for (const Completion& completion : record.completions) WriteCompletion(completion, &json);
    json.EndArray();
  }
  if (!record.detail.empty()) WriteText("detail", record.detail, &json);
  json.Field("ended_s", record.ended_s);
  if (!record.engine_steps.empty()) {
    json.Key("engine_steps");
    WriteEngineSteps(record.engine_steps, &json);
  }
  if (record.error) WriteText("error", *record.error, &json);
  if (record.flush_accepted) json.Field("flush_accepted", true);
  json.Field("launch", record.launch);
  if (!record.prompt_digests.empty()) {
    json.Key("prompt_digests");
    json.BeginArray();
    for (const std::string& digest : record.prompt_digests) json.String(digest);
    json.EndArray();
  }
  if (record.replica > 0) json.Field("replica", record.replica);
  if (!record.scores.empty()) {
    json.Key("scores");
    WriteLogprobs(record.scores, &json);
  }
  json.Field("started_s", record.started_s);
  json.Field("step", record.step);
  if (record.voided) WriteText("voided", *record.voided, &json);
  json.EndObject();
  return json.Take();
}

void ReadTranscriptHeader(std::string_view line, const std::string& file, Transcript* transcript) {
  const JsonDocument document(line, file);
  const JsonValue header = document.Root();
  header.CheckSchema(kSchema);
  header.CheckFields({"identity", "plan_sha256", "schema"});
  transcript->plan_digest = header.At("plan_sha256").String();
  transcript->identity = header.At("identity").String();
}

StepRecord ReadTranscriptRecord(std::string_view line, const std::string& file) {
  const JsonDocument document(line, file);
  const JsonValue value = document.Root();
  value.CheckFields({"attempt", "completions", "detail", "ended_s", "engine_steps", "error",
                     "flush_accepted", "launch", "prompt_digests", "replica", "scores", "started_s",
                     "step", "voided"});
  StepRecord record;
  record.step = value.At("step").Int(0, kMaxInt);
  record.attempt = value.At("attempt").Int(0, kMaxInt);
  record.launch = value.At("launch").Int(0, kMaxInt);
  record.replica = OptionalIntOf(value, "replica").value_or(0);
  record.voided = OptionalTextOf(value, "voided");
  record.error = OptionalTextOf(value, "error");
  record.detail = OptionalTextOf(value, "detail").value_or("");
  record.started_s = value.At("started_s").Double();
  record.ended_s = value.At("ended_s").Double();
  if (const auto accepted = value.Find("flush_accepted")) record.flush_accepted = accepted->Bool();
  if (const auto items = value.Find("completions")) {
    for (const JsonValue& item : items->Items()) {
      record.completions.push_back(ReadCompletion(item));
    }
  }
  if (const auto digests = value.Find("prompt_digests")) {
    for (const JsonValue& digest : digests->Items()) {
      record.prompt_digests.push_back(digest.String());
    }
  }
  if (const auto steps = value.Find("engine_steps")) record.engine_steps = ReadEngineSteps(*steps);
  if (const auto scores = value.Find("scores")) record.scores = ReadLogprobs(*scores);
  return record;
}

}  // namespace detcheck
