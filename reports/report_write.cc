#include <array>
#include <string>
#include <string_view>

#include "fixtures/file_io.h"
#include "reports/json_text.h"
#include "reports/record_json.h"
#include "reports/report.h"
#include "reports/report_content.h"

namespace detcheck {
namespace {

// What a reader looks for first comes first.
constexpr std::array<std::string_view, 12> kFileOrder = {
    "judgement", "scope",    "subject", "replicas",   "support", "harness",
    "facts",     "protocol", "plan",    "transcript", "outputs", "logprobs"};

std::string RunJson(const RunFacts& run) {
  JsonText json;
  json.BeginObject();
  json.Field("duration_s", run.duration_s);
  json.Field("interrupted", run.interrupted);
  json.Field("resumed_records", run.resumed_records);
  json.Field("started_utc", run.started_utc);
  json.EndObject();
  return json.Take();
}

// One entry for each record.
std::string TimingsJson(const Transcript& transcript) {
  JsonText json;
  json.BeginArray();
  for (const StepRecord& record : transcript.records) {
    json.BeginObject();
    json.Field("ended_s", record.ended_s);
    if (!record.completions.empty()) {
      json.Key("items");
      json.BeginArray();
      for (const Completion& completion : record.completions) WriteTimes(completion.times, &json);
      json.EndArray();
    }
    json.Field("started_s", record.started_s);
    json.EndObject();
  }
  json.EndArray();
  return json.Take();
}

}  // namespace

std::string ReportToJson(const Report& report) {
  const ReportContent content(report);
  const std::string timings = TimingsJson(report.transcript);
  std::string text;
  text.reserve(content.NumBytes() + timings.size() + 4096);
  const auto take = [&](std::string_view piece) { text += piece; };
  const auto begin = [&](std::string_view name) {
    take(text.empty() ? "{\n\"" : ",\n\"");
    take(name);
    take("\":");
  };
  begin("schema");
  content.Write("schema", take);
  begin("content_sha256");
  take("\"" + content.Digest() + "\"");
  begin("run");
  take(RunJson(report.run));
  for (const std::string_view name : kFileOrder) {
    if (!content.Has(name)) continue;
    begin(name);
    content.Write(name, take);
  }
  begin("timings");
  take(timings);
  take("\n}\n");
  return text;
}

void WriteReport(const Report& report, const std::string& path) {
  WriteFileAtomically(path, ReportToJson(report));
}

}  // namespace detcheck
