#include "reports/report_content.h"

#include <deque>
#include <unordered_map>

#include "engine/base/sha256.h"
#include "reports/judgement_json.h"
#include "reports/manifest_json.h"
#include "reports/packed_logprobs.h"
#include "reports/record_json.h"
#include "reports/replica_json.h"
#include "reports/scope_json.h"
#include "reports/support_json.h"

namespace detcheck {
namespace {

// JSON texts, each kept once and named by its place.
class TextTable {
 public:
  int Add(std::string text) {
    const auto it = place_of_.find(text);
    if (it != place_of_.end()) return it->second;
    texts_.push_back(std::move(text));
    const int place = static_cast<int>(texts_.size()) - 1;
    place_of_.emplace(texts_.back(), place);
    return place;
  }

  std::vector<std::string> Take() {
    place_of_.clear();
    return {std::make_move_iterator(texts_.begin()), std::make_move_iterator(texts_.end())};
  }

 private:
  std::deque<std::string> texts_;  // Its elements stay where they are.
  std::unordered_map<std::string_view, int> place_of_;
};

// Writes the transcript; what samples share goes to the tables.
class TranscriptWriting {
 public:
  explicit TranscriptWriting(const TextFindings& texts) : texts_(texts) {}

  void Write(const Transcript& transcript, JsonText* json) {
    json->BeginObject();
    json->Field("complete", transcript.complete);
    if (!transcript.ended_early.empty()) WriteText("ended_early", transcript.ended_early, json);
    json->Field("identity", transcript.identity);
    json->Field("identity_after", transcript.identity_after);
    json->Field("plan_sha256", transcript.plan_digest);
    // The digests come before the records, which say which there are.
    JsonText records;
    records.BeginArray();
    for (const StepRecord& record : transcript.records) WriteRecord(record, &records);
    records.EndArray();
    json->Key("prompt_digests");
    json->BeginArray();
    for (const std::string& digest : digests_.Take()) json->Raw(digest);
    json->EndArray();
    json->Key("records");
    json->Raw(records.text());
    json->EndObject();
  }

  TextTable& outputs() { return outputs_; }
  TextTable& logprobs() { return logprobs_; }

 private:
  void WriteRecord(const StepRecord& record, JsonText* json) {
    json->BeginObject();
    json->Field("attempt", record.attempt);
    if (!record.detail.empty()) WriteText("detail", record.detail, json);
    if (!record.engine_steps.empty()) {
      json->Key("engine_steps");
      WriteEngineSteps(record.engine_steps, json);
    }
    if (record.error) WriteText("error", *record.error, json);
    if (record.flush_accepted) json->Field("flush_accepted", true);
    if (!record.completions.empty()) {
      json->Key("items");
      json->BeginArray();
      for (const Completion& completion : record.completions) WriteSample(completion, json);
      json->EndArray();
    }
    json->Field("launch", record.launch);
    if (!record.prompt_digests.empty()) WritePrompts(record.prompt_digests, json);
    if (record.replica > 0) json->Field("replica", record.replica);
    if (!record.scores.empty()) json->Field("scores", AddLogprobs(record.scores));
    json->Field("step", record.step);
    if (record.voided) WriteText("voided", *record.voided, json);
    json->EndObject();
  }

  void WritePrompts(const std::vector<std::string>& digests, JsonText* json) {
    json->Key("prompts");
    json->BeginArray();
    for (const std::string& digest : digests) {
      JsonText text;
      text.String(digest);
      json->Int(digests_.Add(text.Take()));
    }
    json->EndArray();
  }

  void WriteSample(const Completion& completion, JsonText* json) {
    json->BeginObject();
    json->Field("completion_tokens", completion.completion_tokens);
    if (!completion.error.empty()) WriteText("error", completion.error, json);
    json->Field("finish", WordOf(kFinishReasonWords, completion.finish_reason));
    if (!completion.logprobs.empty()) json->Field("logprobs", AddLogprobs(completion.logprobs));
    json->Field("output", AddOutput(completion));
    json->Field("prompt_tokens", completion.prompt_tokens);
    json->Key("witness");
    WriteWitness(completion.witness, json);
    json->EndObject();
  }

  int AddLogprobs(const std::vector<TokenLogprob>& logprobs) {
    JsonText text;
    WriteLogprobs(logprobs, &text);
    return logprobs_.Add(text.Take());
  }

  int AddOutput(const Completion& completion) {
    JsonText text;
    text.BeginObject();
    text.Key("ids");
    text.Ints(completion.token_ids);
    if (completion.text) WriteText("text", *completion.text, &text);
    if (!completion.token_bytes.empty())
      WriteTextList("token_bytes", completion.token_bytes, &text);
    const auto finding = completion.text ? texts_.find(*completion.text) : texts_.end();
    if (finding != texts_.end()) WriteFinding(finding->second, &text);
    text.EndObject();
    return outputs_.Add(text.Take());
  }

  static void WriteFinding(const TextFinding& finding, JsonText* json) {
    json->Field("validity", WordOf(kValidityWords, finding.validity));
    if (!finding.why.empty()) WriteText("why", finding.why, json);
  }

  const TextFindings& texts_;
  TextTable outputs_;
  TextTable logprobs_;
  TextTable digests_;
};

template <typename Write>
std::string JsonOf(Write write) {
  JsonText json;
  write(&json);
  return json.Take();
}

void WriteList(const std::vector<std::string>& texts,
               const std::function<void(std::string_view)>& take) {
  take("[");
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) take(",");
    take(texts[i]);
  }
  take("]");
}

std::string ProtocolJson(const std::optional<Protocol>& protocol) {
  if (!protocol) return "null";
  const bool has_files = !protocol->fixture_files.empty();
  return "{\"content\":" + protocol->json +
         (has_files ? ",\"fixture_files\":" + FixtureFilesJson(*protocol) : "") + ",\"sha256\":\"" +
         ProtocolDigest(*protocol) + "\"}";
}

}  // namespace

ReportContent::ReportContent(const Report& report)
    : facts_(JsonOf([&](JsonText* json) { WriteFacts(report.facts, json); })),
      harness_(JsonOf([&](JsonText* json) { WriteManifest(report.harness, json); })),
      judgement_(
          JsonOf([&](JsonText* json) { WriteJudgement(report.judgement, report.plan, json); })),
      plan_(PlanToJson(report.plan)),
      protocol_(ProtocolJson(report.protocol)),
      scope_(JsonOf([&](JsonText* json) { WriteScope(report.scope, json); })),
      subject_(JsonOf([&](JsonText* json) { WriteManifest(report.subject, json); })) {
  if (report.support) {
    support_ = JsonOf([&](JsonText* json) { WriteSupport(*report.support, json); });
  }
  if (!report.replicas.empty()) {
    replicas_ = JsonOf([&](JsonText* json) { WriteReplicas(report.replicas, json); });
  }
  TranscriptWriting writing(report.texts);
  transcript_ = JsonOf([&](JsonText* json) { writing.Write(report.transcript, json); });
  logprobs_ = writing.logprobs().Take();
  outputs_ = writing.outputs().Take();
}

const std::vector<std::string_view>& ReportContent::Names() {
  static const std::vector<std::string_view> kNames = {
      "facts",    "harness", "judgement", "logprobs", "outputs", "plan",      "protocol",
      "replicas", "schema",  "scope",     "subject",  "support", "transcript"};
  return kNames;
}

bool ReportContent::MayLack(std::string_view name) {
  return name == "replicas" || name == "support";
}

bool ReportContent::Has(std::string_view name) const {
  if (name == "replicas") return !replicas_.empty();
  return name != "support" || !support_.empty();
}

void ReportContent::Write(std::string_view name,
                          const std::function<void(std::string_view)>& take) const {
  if (name == "facts") return take(facts_);
  if (name == "harness") return take(harness_);
  if (name == "judgement") return take(judgement_);
  if (name == "logprobs") return WriteList(logprobs_, take);
  if (name == "outputs") return WriteList(outputs_, take);
  if (name == "plan") return take(plan_);
  if (name == "protocol") return take(protocol_);
  if (name == "replicas") return take(replicas_);
  if (name == "scope") return take(scope_);
  if (name == "subject") return take(subject_);
  if (name == "support") return take(support_);
  if (name == "transcript") return take(transcript_);
  take("\"" + std::string(kReportSchema) + "\"");
}

std::string ReportContent::Digest() const {
  Sha256 sha256;
  const auto take = [&](std::string_view piece) { sha256.Update(piece); };
  for (const std::string_view name : Names()) {
    if (!Has(name)) continue;
    take(name == Names().front() ? "{\"" : ",\"");
    take(name);
    take("\":");
    Write(name, take);
  }
  take("}");
  return sha256.HexDigest();
}

size_t ReportContent::NumBytes() const {
  size_t num_bytes = 0;
  for (const std::string_view name : Names()) {
    Write(name, [&](std::string_view piece) { num_bytes += piece.size(); });
  }
  return num_bytes;
}

}  // namespace detcheck
