#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "fixtures/file_io.h"
#include "fixtures/json_reader.h"
#include "fixtures/json_writer.h"
#include "reports/judgement_json.h"
#include "reports/manifest_json.h"
#include "reports/packed_logprobs.h"
#include "reports/record_json.h"
#include "reports/replica_json.h"
#include "reports/report.h"
#include "reports/report_content.h"
#include "reports/scope_json.h"
#include "reports/support_json.h"

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
  std::vector<std::string> token_bytes;
};

// Reads the records with what their samples share.
class TranscriptReading {
 public:
  TranscriptReading(const JsonValue& report, const Plan& plan) : plan_(plan) {
    for (const JsonValue& value : report.At("outputs").Items()) {
      value.CheckFields({"ids", "text", "token_bytes", "validity", "why"});
      const auto bytes = value.Find("token_bytes");
      outputs_.push_back({value.At("ids").Ints(kMinInt, kMaxInt), OptionalTextOf(value, "text"),
                          bytes ? ReadTextList(*bytes) : std::vector<std::string>()});
      ReadFinding(value, outputs_.back());
    }
    logprobs_ = report.At("logprobs").Items();
    is_used_.assign(logprobs_.size(), false);
  }

  const TextFindings& texts() const { return texts_; }

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
    for (size_t i = 0; i < logprobs_.size(); ++i) {
      if (!is_used_[i]) logprobs_[i].Fail("of no sample");
    }
    return transcript;
  }

 private:
  void ReadFinding(const JsonValue& value, const Output& output) {
    const auto validity = value.Find("validity");
    if (!validity) return;
    if (!output.text) validity->Fail("of an output without text");
    const TextFinding finding{validity->Word(kValidityWords),
                              OptionalTextOf(value, "why").value_or("")};
    const auto [it, is_new] = texts_.emplace(*output.text, finding);
    if (!is_new && it->second != finding)
      validity->Fail("is not what another output of that text has");
  }

  template <typename Entry>
  static const Entry& EntryOf(const std::vector<Entry>& table, JsonValue index) {
    return table[index.Int(0, static_cast<int>(table.size()) - 1)];
  }

  // Decoded where they are used: a table of them would be as large as all answers once more.
  std::vector<TokenLogprob> LogprobsOf(const JsonValue& index) {
    const int place = index.Int(0, static_cast<int>(logprobs_.size()) - 1);
    is_used_[static_cast<size_t>(place)] = true;
    return ReadLogprobs(logprobs_[static_cast<size_t>(place)]);
  }

  StepRecord ReadRecord(const JsonValue& value) {
    value.CheckFields({"attempt", "detail", "engine_steps", "error", "flush_accepted", "items",
                       "launch", "prompts", "replica", "scores", "step", "voided"});
    StepRecord record;
    record.step = value.At("step").Int(0, static_cast<int>(plan_.steps.size()) - 1);
    record.attempt = value.At("attempt").Int(0, kMaxInt);
    record.launch = value.At("launch").Int(0, kMaxInt);
    record.replica = OptionalIntOf(value, "replica").value_or(0);
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
    if (const auto scores = value.Find("scores")) record.scores = LogprobsOf(*scores);
    if (const std::string fault = RecordFault(plan_, record); !fault.empty()) value.Fail(fault);
    return record;
  }

  Completion ReadSample(const JsonValue& value) {
    value.CheckFields(
        {"completion_tokens", "error", "finish", "logprobs", "output", "prompt_tokens", "witness"});
    Completion completion;
    const Output& output = EntryOf(outputs_, value.At("output"));
    completion.token_ids = output.ids;
    completion.text = output.text;
    completion.token_bytes = output.token_bytes;
    completion.completion_tokens = OptionalIntOf(value, "completion_tokens");
    if (const auto logprobs = value.Find("logprobs")) {
      completion.logprobs = LogprobsOf(*logprobs);
    }
    completion.finish_reason = value.At("finish").Word(kFinishReasonWords);
    completion.error = OptionalTextOf(value, "error").value_or("");
    completion.prompt_tokens = OptionalIntOf(value, "prompt_tokens");
    completion.witness = ReadWitness(value.At("witness"));
    return completion;
  }

  const Plan& plan_;
  std::vector<Output> outputs_;
  TextFindings texts_;
  std::vector<JsonValue> logprobs_;  // Still packed.
  std::vector<bool> is_used_;        // Of each of them: some sample has it.
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

// The files that the protocol names, each with its digest.
void ReadFixtureFiles(const JsonValue& value, Protocol* protocol) {
  for (const JsonValue& file : value.Items()) {
    file.CheckFields({"name", "sha256"});
    const std::string& name = file.At("name").String();
    const auto& named = protocol->fixtures;
    if (!NamesFixtureFile(name) || std::find(named.begin(), named.end(), name) == named.end()) {
      file.Fail(Quoted(name) + " is no file that the protocol names");
    }
    protocol->fixture_files[name] = file.At("sha256").String();
  }
}

std::optional<Protocol> ReadProtocol(const JsonDocument& document) {
  const JsonValue value = document.Root().At("protocol");
  if (value.IsNull()) return std::nullopt;
  value.CheckFields({"content", "fixture_files", "sha256"});
  value.At("content");
  Protocol protocol =
      ProtocolFromJson(CanonicalJson(document.tree().at("protocol").at("content")), value.Where());
  if (const auto files = value.Find("fixture_files")) ReadFixtureFiles(*files, &protocol);
  const JsonValue digest = value.At("sha256");
  if (digest.String() != ProtocolDigest(protocol)) digest.Fail("is not of the content");
  return protocol;
}

// Records of one replica stand together, in the order of the replicas.
void CheckReplicas(const JsonValue& value, const Report& report) {
  const int most = std::max(static_cast<int>(report.replicas.size()) - 1, 0);
  int last = 0;
  for (size_t i = 0; i < report.transcript.records.size(); ++i) {
    const int replica = report.transcript.records[i].replica;
    if (replica < last || replica > most) {
      value[i].Fail(fmt::format("replica: {} is not from {} to {}", replica, last, most));
    }
    last = replica;
  }
}

Report ReadParts(const JsonDocument& document, std::string* digest) {
  const JsonValue root = document.Root();
  root.CheckSchema(kReportSchema);
  root.CheckFields({"content_sha256", "facts", "harness", "judgement", "logprobs", "outputs",
                    "plan", "protocol", "replicas", "run", "schema", "scope", "subject", "support",
                    "timings", "transcript"});
  *digest = root.At("content_sha256").String();
  Report report;
  report.run = ReadRun(root.At("run"));
  report.harness = ReadManifest(root.At("harness"));
  report.subject = ReadManifest(root.At("subject"));
  if (const auto support = root.Find("support")) report.support = ReadSupport(*support);
  report.facts = ReadFacts(root.At("facts"));
  report.plan = ReadPlanOf(document);
  report.protocol = ReadProtocol(document);
  TranscriptReading transcript(root, report.plan);
  report.transcript = transcript.Read(root.At("transcript"));
  report.texts = transcript.texts();
  if (const auto replicas = root.Find("replicas")) report.replicas = ReadReplicas(*replicas);
  CheckReplicas(root.At("transcript").At("records"), report);
  ReadTimings(root.At("timings"), &report.transcript);
  report.judgement = ReadJudgement(root.At("judgement"), report.plan, report.transcript);
  report.scope = ReadScope(root.At("scope"), report.plan);
  return report;
}

// The end of the JSON value that begins at `at`, in a text that is known to be JSON.
size_t EndOfValue(std::string_view json, size_t at) {
  int depth = 0;
  bool in_string = false;
  for (; at < json.size(); ++at) {
    const char c = json[at];
    if (in_string) {
      if (c == '\\') ++at;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (--depth < 0) return at;
    } else if (c == ',' && depth == 0) {
      return at;
    }
  }
  return at;
}

// The digest of the parts as they stand in the file; empty where it is not laid out as the writer
// does it. Hashing what is there is much faster than writing it anew.
std::string DigestOfText(std::string_view json) {
  std::map<std::string_view, std::string_view> parts;
  size_t at = json.find('{');
  while (at != std::string_view::npos && at + 1 < json.size()) {
    const size_t open = json.find('"', at);
    const size_t close = json.find("\":", open + 1);
    if (open == std::string_view::npos || close == std::string_view::npos) break;
    const size_t begin = close + 2;
    at = EndOfValue(json, begin);
    std::string_view value = json.substr(begin, at - begin);
    while (value.ends_with('\n')) value.remove_suffix(1);
    parts[json.substr(open + 1, close - open - 1)] = value;
    if (at < json.size() && json[at] == '}') break;
  }
  Sha256 sha256;
  for (const std::string_view name : ReportContent::Names()) {
    const auto it = parts.find(name);
    if (it == parts.end() && ReportContent::MayLack(name)) continue;
    if (it == parts.end()) return "";
    sha256.Update(name == ReportContent::Names().front() ? "{\"" : ",\"");
    sha256.Update(name);
    sha256.Update("\":");
    sha256.Update(it->second);
  }
  sha256.Update("}");
  return sha256.HexDigest();
}

}  // namespace

Report ReportFromJson(const std::string& json, const std::string& file) {
  std::string told;
  auto document = std::make_unique<JsonDocument>(json, file);
  Report report = ReadParts(*document, &told);
  document.reset();  // As large as the file; not needed beside what comes next.
  if (DigestOfText(json) == told) return report;
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
