#include <fmt/format.h>

#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/error.h"
#include "fixtures/file_io.h"
#include "fixtures/json_reader.h"
#include "fixtures/json_writer.h"
#include "reports/judgement_json.h"
#include "reports/manifest_json.h"
#include "reports/packed_logprobs.h"
#include "reports/record_json.h"
#include "reports/report.h"
#include "reports/report_content.h"

namespace detcheck {
namespace {

constexpr int kMinInt = std::numeric_limits<int>::min();
constexpr int kMaxInt = std::numeric_limits<int>::max();

RunFacts ReadRun(const JsonValue& value) {
  value.CheckFields({"duration_s", "interrupted", "resumed_records", "started_utc"});
  RunFacts run;
  run.started_utc = value.At("started_utc").String();
  run.duration_s = value.At("duration_s").Double();
  run.interrupted = value.At("interrupted").Bool();
  run.resumed_records = value.At("resumed_records").Int(0, kMaxInt);
  return run;
}

// Tokens and text of one entry of `outputs`.
struct Output {
  std::vector<TokenId> ids;
  std::optional<std::string> text;
};

// Reads the records with what their samples share.
class TranscriptReading {
 public:
  TranscriptReading(const JsonValue& report, const Plan& plan) : plan_(plan) {
    for (const JsonValue& value : report.At("outputs").Items()) {
      value.CheckFields({"ids", "text"});
      outputs_.push_back({value.At("ids").Ints(kMinInt, kMaxInt), OptionalTextOf(value, "text")});
    }
    for (const JsonValue& value : report.At("logprobs").Items()) {
      logprobs_.push_back(ReadLogprobs(value));
    }
  }

  Transcript Read(const JsonValue& value) {
    value.CheckFields({"complete", "ended_early", "identity", "identity_after", "plan_sha256",
                       "prompt_digests", "records"});
    Transcript transcript;
    transcript.complete = value.At("complete").Bool();
    transcript.ended_early = OptionalTextOf(value, "ended_early").value_or("");
    transcript.identity = value.At("identity").String();
    transcript.identity_after = value.At("identity_after").String();
    transcript.plan_digest = value.At("plan_sha256").String();
    for (const JsonValue& digest : value.At("prompt_digests").Items()) {
      digests_.push_back(digest.String());
    }
    for (const JsonValue& record : value.At("records").Items()) {
      transcript.records.push_back(ReadRecord(record));
    }
    return transcript;
  }

 private:
  template <typename Entry>
  static const Entry& EntryOf(const std::vector<Entry>& table, JsonValue index) {
    return table[index.Int(0, static_cast<int>(table.size()) - 1)];
  }

  StepRecord ReadRecord(const JsonValue& value) const {
    value.CheckFields({"attempt", "detail", "engine_steps", "error", "flush_accepted", "items",
                       "launch", "prompts", "scores", "step", "voided"});
    StepRecord record;
    record.step = value.At("step").Int(0, static_cast<int>(plan_.steps.size()) - 1);
    record.attempt = value.At("attempt").Int(0, kMaxInt);
    record.launch = value.At("launch").Int(0, kMaxInt);
    record.voided = OptionalTextOf(value, "voided");
    record.error = OptionalTextOf(value, "error");
    record.detail = OptionalTextOf(value, "detail").value_or("");
    if (const auto flush = value.Find("flush_accepted")) record.flush_accepted = flush->Bool();
    if (const auto items = value.Find("items")) {
      for (const JsonValue& item : items->Items()) record.completions.push_back(ReadSample(item));
    }
    if (const auto prompts = value.Find("prompts")) {
      for (const JsonValue& prompt : prompts->Items()) {
        record.prompt_digests.push_back(EntryOf(digests_, prompt));
      }
    }
    if (const auto steps = value.Find("engine_steps")) {
      record.engine_steps = ReadEngineSteps(*steps);
    }
    if (const auto scores = value.Find("scores")) record.scores = EntryOf(logprobs_, *scores);
    return record;
  }

  Completion ReadSample(const JsonValue& value) const {
    value.CheckFields({"error", "finish", "logprobs", "output", "prompt_tokens", "witness"});
    Completion completion;
    const Output& output = EntryOf(outputs_, value.At("output"));
    completion.token_ids = output.ids;
    completion.text = output.text;
    if (const auto logprobs = value.Find("logprobs")) {
      completion.logprobs = EntryOf(logprobs_, *logprobs);
    }
    completion.finish_reason = value.At("finish").Word(kFinishReasonWords);
    completion.error = OptionalTextOf(value, "error").value_or("");
    completion.prompt_tokens = OptionalIntOf(value, "prompt_tokens");
    completion.witness = ReadWitness(value.At("witness"));
    return completion;
  }

  const Plan& plan_;
  std::vector<Output> outputs_;
  std::vector<std::vector<TokenLogprob>> logprobs_;
  std::vector<std::string> digests_;
};

void ReadTimings(const JsonValue& value, Transcript* transcript) {
  const std::vector<JsonValue> timings = value.Items();
  if (timings.size() != transcript->records.size()) {
    value.Fail(
        fmt::format("{} entries for {} records", timings.size(), transcript->records.size()));
  }
  for (size_t i = 0; i < timings.size(); ++i) {
    const JsonValue& timing = timings[i];
    StepRecord& record = transcript->records[i];
    timing.CheckFields({"ended_s", "items", "started_s"});
    record.started_s = timing.At("started_s").Double();
    record.ended_s = timing.At("ended_s").Double();
    const auto items = timing.Find("items");
    const size_t num_items = items ? items->Size() : 0;
    if (num_items != record.completions.size()) {
      timing.Fail(fmt::format("{} items, the record has {}", num_items, record.completions.size()));
    }
    for (size_t j = 0; j < num_items; ++j) record.completions[j].times = ReadTimes((*items)[j]);
  }
}

Plan ReadPlanOf(const JsonDocument& document) {
  document.Root().At("plan");
  return PlanFromJson(CanonicalJson(document.tree().at("plan")), document.file() + ": plan");
}

Report ReadParts(const JsonDocument& document, std::string* digest) {
  const JsonValue root = document.Root();
  root.CheckSchema(kReportSchema);
  root.CheckFields({"content_sha256", "facts", "harness", "judgement", "logprobs", "outputs",
                    "plan", "run", "schema", "subject", "timings", "transcript"});
  *digest = root.At("content_sha256").String();
  Report report;
  report.run = ReadRun(root.At("run"));
  report.harness = ReadManifest(root.At("harness"));
  report.subject = ReadManifest(root.At("subject"));
  report.facts = ReadFacts(root.At("facts"));
  report.plan = ReadPlanOf(document);
  report.transcript = TranscriptReading(root, report.plan).Read(root.At("transcript"));
  ReadTimings(root.At("timings"), &report.transcript);
  report.judgement = ReadJudgement(root.At("judgement"), report.plan, report.transcript);
  return report;
}

}  // namespace

Report ReportFromJson(const std::string& json, const std::string& file) {
  std::string told;
  auto document = std::make_unique<JsonDocument>(json, file);
  Report report = ReadParts(*document, &told);
  document.reset();  // As large as the file; not needed beside what comes next.
  // Strict reading lost nothing, so what is written of it again has the digest of what was read.
  const std::string found = ReportContent(report).Digest();
  if (found != told) {
    throw Error(ErrorCode::kInput,
                fmt::format("{}: content digest mismatch: content_sha256 says {:.12}…, the content "
                            "has {:.12}…: changed by hand or damaged",
                            OneLine(file), OneLine(told), found));
  }
  return report;
}

Report ReadReport(const std::string& path) {
  return ReportFromJson(ReadFile(path), path);
}

}  // namespace detcheck
