#include "reports/judgement_json.h"

#include <algorithm>
#include <limits>

#include "fixtures/plan_words.h"
#include "reports/judgement_words.h"
#include "reports/record_json.h"

namespace detcheck {
namespace {

constexpr int kMinInt = std::numeric_limits<int>::min();
constexpr int kMaxInt = std::numeric_limits<int>::max();

void WriteWords(std::string_view name, const std::vector<std::string>& words, JsonText* json) {
  json->Key(name);
  json->BeginArray();
  for (const std::string& text : words) {
    // A reason may quote a target, whose bytes need not be UTF-8.
    json->String(ToUtf8(text));
  }
  json->EndArray();
}

void WriteRef(std::string_view name, const SampleRef& ref, JsonText* json) {
  json->Key(name);
  json->BeginObject();
  json->Field("item", ref.item);
  json->Field("record", ref.record);
  json->EndObject();
}

void WriteDivergence(const Divergence& divergence, JsonText* json) {
  json->BeginObject();
  json->Field("absolute_position", divergence.absolute_position);
  WriteRef("actual", divergence.actual, json);
  json->Field("actual_token", divergence.actual_token);
  json->Field("breaks_criterion", divergence.breaks_criterion);
  json->Field("by_control", divergence.by_control);
  json->Field("cause", WordOf(kCauseWords, divergence.cause));
  WriteRef("expected", divergence.expected, json);
  json->Field("expected_token", divergence.expected_token);
  json->Field("first_logprob_index", divergence.first_logprob_index);
  json->Field("gap", divergence.gap);
  json->Field("index", divergence.index);
  json->Field("max_logprob_difference", divergence.max_logprob_difference);
  if (divergence.near_tie) json->Field("near_tie", WordOf(kNearTieWords, *divergence.near_tie));
  json->Field("num_samples", divergence.num_samples);
  if (divergence.suspected_state) json->Field("suspected_state", true);
  json->Field("text_offset", divergence.text_offset);
  json->EndObject();
}

void WritePrefill(const PrefillComparison& prefill, JsonText* json) {
  json->BeginObject();
  json->Field("absolute_position", prefill.absolute_position);
  json->Field("index", prefill.index);
  json->Field("max_logprob_difference", prefill.max_logprob_difference);
  json->Field("mean_k3", prefill.mean_k3);
  json->Field("num_different", prefill.num_different);
  json->Field("num_positions", prefill.num_positions);
  json->Field("num_scores", prefill.num_scores);
  json->Field("unique_scores", prefill.unique_scores);
  json->EndObject();
}

void WriteValidity(const ValidityCounts& validity, JsonText* json) {
  json->BeginObject();
  json->Field("invalid", validity.num_invalid);
  json->Field("unknown", validity.num_unknown);
  json->Field("valid", validity.num_valid);
  json->EndObject();
}

void WriteRequest(const RequestJudgement& request, const Plan& plan, JsonText* json) {
  json->BeginObject();
  json->Field("cause", WordOf(kCauseWords, request.cause));
  json->Field("condition", request.condition);
  json->Field("condition_kind", WordOf(kConditionWords, request.condition_kind));
  json->Key("divergences");
  json->BeginArray();
  for (const Divergence& divergence : request.divergences) WriteDivergence(divergence, json);
  json->EndArray();
  if (request.earliest) {
    json->Key("earliest");
    WriteDivergence(*request.earliest, json);
  }
  json->Field("id", plan.requests[request.request].id);
  if (request.prefill) {
    json->Key("prefill");
    WritePrefill(*request.prefill, json);
  }
  WriteWords("reasons", request.reasons, json);
  if (request.reference) WriteRef("reference", *request.reference, json);
  json->Field("request", request.request);
  json->Key("sample_counts");
  json->Ints(request.sample_counts);
  json->Field("subject", request.subject);
  if (request.identity != TokenIdentity::kIds) {
    json->Field("token_identity", WordOf(kTokenIdentityWords, request.identity));
  }
  json->Field("total_samples", request.total_samples);
  json->Key("trace_counts");
  json->Ints(request.trace_counts);
  json->Field("traced_samples", request.traced_samples);
  json->Field("unique_samples", request.unique_samples);
  json->Field("unique_texts", request.unique_texts);
  json->Field("unique_traces", request.unique_traces);
  if (request.validity) {
    json->Key("validity");
    WriteValidity(*request.validity, json);
  }
  json->Field("verdict", WordOf(kVerdictWords, request.verdict));
  json->EndObject();
}

void WriteMode(const ModeJudgement& mode, const Plan& plan, JsonText* json) {
  json->BeginObject();
  if (mode.across_replicas) json->Field("across_replicas", true);
  json->Field("bound", mode.bound);
  json->Field("decides", mode.decides);
  json->Key("formed_sizes");
  json->Ints(mode.formed_sizes);
  json->Field("mode", ToString(mode.mode));
  WriteWords("notes", mode.notes, json);
  json->Field("num_batches", mode.num_batches);
  WriteWords("reasons", mode.reasons, json);
  json->Field("replica", mode.replica);
  json->Key("requests");
  json->BeginArray();
  for (const RequestJudgement& request : mode.requests) WriteRequest(request, plan, json);
  json->EndArray();
  json->Field("verdict", WordOf(kVerdictWords, mode.verdict));
  json->EndObject();
}

// Reads the parts that point into the plan and the transcript.
class JudgementReader {
 public:
  JudgementReader(const Plan& plan, const Transcript& transcript)
      : plan_(plan), transcript_(transcript) {}

  Judgement Read(const JsonValue& value) const {
    value.CheckFields({"criterion_sha256", "modes", "notes", "reasons", "verdict"});
    Judgement judgement;
    judgement.criterion_digest = ReadCriterionDigest(value.At("criterion_sha256"));
    judgement.verdict = value.At("verdict").Word(kVerdictWords);
    judgement.reasons = ReadWords(value.At("reasons"));
    judgement.notes = ReadWords(value.At("notes"));
    for (const JsonValue& mode : value.At("modes").Items()) {
      judgement.modes.push_back(ReadMode(mode));
    }
    return judgement;
  }

 private:
  static std::vector<std::string> ReadWords(const JsonValue& value) {
    std::vector<std::string> words;
    for (const JsonValue& item : value.Items()) words.push_back(item.String());
    return words;
  }

  static std::optional<TokenId> OptionalToken(const JsonValue& value, std::string_view field) {
    const auto found = value.Find(field);
    return found ? std::optional<TokenId>(found->Int(kMinInt, kMaxInt)) : std::nullopt;
  }

  static std::optional<double> OptionalDouble(const JsonValue& value, std::string_view field) {
    const auto found = value.Find(field);
    return found ? std::optional(found->Double()) : std::nullopt;
  }

  // That the judgement is by another criterion than the plan's must not go unseen.
  std::string ReadCriterionDigest(const JsonValue& value) const {
    std::string digest = value.String();
    if (digest != CriterionDigest(plan_.criterion)) value.Fail("is not of the plan's criterion");
    return digest;
  }

  ModeJudgement ReadMode(const JsonValue& value) const {
    value.CheckFields({"across_replicas", "bound", "decides", "formed_sizes", "mode", "notes",
                       "num_batches", "reasons", "replica", "requests", "verdict"});
    ModeJudgement mode;
    mode.replica = OptionalIntOf(value, "replica");
    if (const auto across = value.Find("across_replicas")) mode.across_replicas = across->Bool();
    mode.mode = value.At("mode").Word(kModeWords);
    mode.verdict = value.At("verdict").Word(kVerdictWords);
    mode.decides = value.At("decides").Bool();
    mode.reasons = ReadWords(value.At("reasons"));
    mode.notes = ReadWords(value.At("notes"));
    mode.num_batches = value.At("num_batches").Int(0, kMaxInt);
    mode.bound = value.At("bound").Double();
    mode.formed_sizes = value.At("formed_sizes").Ints(0, kMaxInt);
    for (const JsonValue& request : value.At("requests").Items()) {
      mode.requests.push_back(ReadRequest(request));
      mode.requests.back().mode = mode.mode;
    }
    return mode;
  }

  RequestJudgement ReadRequest(const JsonValue& value) const {
    value.CheckFields({"cause",          "condition",      "condition_kind",
                       "divergences",    "earliest",       "id",
                       "prefill",        "reasons",        "reference",
                       "request",        "sample_counts",  "subject",
                       "token_identity", "total_samples",  "trace_counts",
                       "traced_samples", "unique_samples", "unique_texts",
                       "unique_traces",  "validity",       "verdict"});
    RequestJudgement request;
    request.request = value.At("request").Int(0, static_cast<int>(plan_.requests.size()) - 1);
    if (value.At("id").String() != plan_.requests[request.request].id) {
      value.At("id").Fail("is not the plan's name of that request");
    }
    request.subject = value.At("subject").Bool();
    if (const auto identity = value.Find("token_identity")) {
      request.identity = identity->Word(kTokenIdentityWords);
    }
    request.total_samples = value.At("total_samples").Int(0, kMaxInt);
    request.unique_samples = value.At("unique_samples").Int(0, kMaxInt);
    request.sample_counts = value.At("sample_counts").Ints(0, kMaxInt);
    request.traced_samples = value.At("traced_samples").Int(0, kMaxInt);
    request.unique_traces = value.At("unique_traces").Int(0, kMaxInt);
    request.trace_counts = value.At("trace_counts").Ints(0, kMaxInt);
    request.unique_texts = OptionalIntOf(value, "unique_texts");
    if (const auto validity = value.Find("validity")) request.validity = ReadValidity(*validity);
    if (const auto reference = value.Find("reference")) request.reference = ReadRef(*reference);
    for (const JsonValue& divergence : value.At("divergences").Items()) {
      request.divergences.push_back(ReadDivergence(divergence));
    }
    if (const auto earliest = value.Find("earliest")) request.earliest = ReadDivergence(*earliest);
    if (const auto prefill = value.Find("prefill")) request.prefill = ReadPrefill(*prefill);
    request.verdict = value.At("verdict").Word(kVerdictWords);
    request.reasons = ReadWords(value.At("reasons"));
    request.cause = value.At("cause").Word(kCauseWords);
    request.condition = value.At("condition").String();
    request.condition_kind = value.At("condition_kind").Word(kConditionWords);
    return request;
  }

  static ValidityCounts ReadValidity(const JsonValue& value) {
    value.CheckFields({"invalid", "unknown", "valid"});
    return {value.At("valid").Int(0, kMaxInt), value.At("invalid").Int(0, kMaxInt),
            value.At("unknown").Int(0, kMaxInt)};
  }

  static PrefillComparison ReadPrefill(const JsonValue& value) {
    value.CheckFields({"absolute_position", "index", "max_logprob_difference", "mean_k3",
                       "num_different", "num_positions", "num_scores", "unique_scores"});
    PrefillComparison prefill;
    prefill.num_positions = value.At("num_positions").Int(0, kMaxInt);
    prefill.num_scores = value.At("num_scores").Int(0, kMaxInt);
    prefill.unique_scores = value.At("unique_scores").Int(0, kMaxInt);
    prefill.num_different = value.At("num_different").Int(0, kMaxInt);
    prefill.index = OptionalIntOf(value, "index");
    prefill.absolute_position = OptionalIntOf(value, "absolute_position");
    prefill.max_logprob_difference = value.At("max_logprob_difference").Double();
    prefill.mean_k3 = OptionalDouble(value, "mean_k3");
    return prefill;
  }

  Divergence ReadDivergence(const JsonValue& value) const {
    value.CheckFields({"absolute_position", "actual", "actual_token", "breaks_criterion",
                       "by_control", "cause", "expected", "expected_token", "first_logprob_index",
                       "gap", "index", "max_logprob_difference", "near_tie", "num_samples",
                       "suspected_state", "text_offset"});
    Divergence divergence;
    divergence.expected = ReadRef(value.At("expected"));
    divergence.actual = ReadRef(value.At("actual"));
    divergence.num_samples = value.At("num_samples").Int(0, kMaxInt);
    divergence.breaks_criterion = value.At("breaks_criterion").Bool();
    divergence.index = OptionalIntOf(value, "index");
    divergence.text_offset = OptionalIntOf(value, "text_offset");
    divergence.absolute_position = OptionalIntOf(value, "absolute_position");
    divergence.first_logprob_index = OptionalIntOf(value, "first_logprob_index");
    divergence.expected_token = OptionalToken(value, "expected_token");
    divergence.actual_token = OptionalToken(value, "actual_token");
    divergence.gap = OptionalDouble(value, "gap");
    if (const auto found = value.Find("near_tie")) divergence.near_tie = found->Word(kNearTieWords);
    if (const auto found = value.Find("suspected_state"))
      divergence.suspected_state = found->Bool();
    divergence.max_logprob_difference = OptionalDouble(value, "max_logprob_difference");
    divergence.cause = value.At("cause").Word(kCauseWords);
    divergence.by_control = value.At("by_control").Bool();
    return divergence;
  }

  SampleRef ReadRef(const JsonValue& value) const {
    value.CheckFields({"item", "record"});
    SampleRef ref;
    ref.record = value.At("record").Int(0, static_cast<int>(transcript_.records.size()) - 1);
    const StepRecord& record = transcript_.records[ref.record];
    const size_t num_items =
        std::min(record.completions.size(), plan_.steps[record.step].items.size());
    ref.item = value.At("item").Int(0, static_cast<int>(num_items) - 1);
    return ref;
  }

  const Plan& plan_;
  const Transcript& transcript_;
};

}  // namespace

void WriteJudgement(const Judgement& judgement, const Plan& plan, JsonText* json) {
  json->BeginObject();
  json->Field("criterion_sha256", judgement.criterion_digest);
  json->Key("modes");
  json->BeginArray();
  for (const ModeJudgement& mode : judgement.modes) WriteMode(mode, plan, json);
  json->EndArray();
  WriteWords("notes", judgement.notes, json);
  WriteWords("reasons", judgement.reasons, json);
  json->Field("verdict", WordOf(kVerdictWords, judgement.verdict));
  json->EndObject();
}

Judgement ReadJudgement(const JsonValue& value, const Plan& plan, const Transcript& transcript) {
  return JudgementReader(plan, transcript).Read(value);
}

}  // namespace detcheck
