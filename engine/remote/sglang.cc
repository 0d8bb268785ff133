#include "engine/remote/sglang.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/remote/answer_parts.h"
#include "engine/remote/claims.h"
#include "engine/remote/server_error.h"
#include "engine/remote/sglang_claims.h"

namespace detcheck {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kBadRequest = 400;
constexpr char kFlushPath[] = "/flush_cache?timeout=20";

/// Every parameter, so that neither the model's defaults nor the server's decide. The seed only
/// where it is used: some sampling backends refuse one.
Json SamplingParams(const Request& request) {
  const Sampling& sampling = request.sampling;
  Json params = {{"max_new_tokens", request.max_new_tokens},
                 {"min_new_tokens", 0},
                 {"temperature", sampling.temperature},
                 {"top_p", sampling.top_p},
                 {"top_k", sampling.top_k},
                 {"min_p", sampling.min_p},
                 {"frequency_penalty", 0.0},
                 {"presence_penalty", 0.0},
                 {"repetition_penalty", 1.0},
                 {"n", 1},
                 {"ignore_eos", request.ignore_eos},
                 {"stop", Json::array()},
                 {"stop_token_ids", Json::array()},
                 {"skip_special_tokens", true},
                 {"spaces_between_special_tokens", true},
                 {"no_stop_trim", false}};
  if (sampling.temperature > 0.0) params["sampling_seed"] = sampling.seed;
  return params;
}

/// `logprob_start_len` from 0 on would keep the prefix cache from being read.
Json Body(const Request& request, int logprob_start_len, bool stream, const std::string& salt) {
  return {{"input_ids", request.prompt_ids},
          {"sampling_params", SamplingParams(request)},
          {"return_logprob", request.top_logprobs.has_value()},
          {"logprob_start_len", logprob_start_len},
          {"top_logprobs_num", request.top_logprobs.value_or(0)},
          {"return_text_in_logprobs", false},
          {"stream", stream},
          {"extra_key", salt},
          {"cache_salt", salt}};
}

/// [logprob, token ID, text]
std::optional<TokenCandidate> ReadEntry(const JsonNode& entry) {
  if (entry.items().size() < 2) return std::nullopt;
  const auto logprob = entry.items()[0].Double();
  const auto id = ReadTokenId(entry.items()[1]);
  if (!logprob || !id || !std::isfinite(*logprob)) return std::nullopt;
  return TokenCandidate{*id, *logprob};
}

/// Entries of the tokens and of their best candidates, from index `begin` on; where one is not
/// whole nothing.
std::optional<std::vector<TokenLogprob>> ReadEntries(const JsonNode& entries, const JsonNode* tops,
                                                     size_t begin, int top_logprobs,
                                                     std::vector<TokenId>* ids) {
  std::vector<TokenLogprob> logprobs;
  for (size_t i = begin; i < entries.items().size(); ++i) {
    const auto entry = ReadEntry(entries.items()[i]);
    if (!entry) return std::nullopt;
    TokenLogprob logprob{entry->logprob, {}};
    if (top_logprobs > 0) {
      if (tops == nullptr || tops->items().size() <= i) return std::nullopt;
      for (const JsonNode& top : tops->items()[i].items()) {
        const auto candidate = ReadEntry(top);
        if (!candidate) return std::nullopt;
        logprob.top.push_back(*candidate);
      }
    }
    SortCandidates(&logprob.top, static_cast<size_t>(top_logprobs));
    logprobs.push_back(std::move(logprob));
    ids->push_back(entry->id);
  }
  return logprobs;
}

void ReadFinish(const JsonNode& reason, Answer* answer) {
  const JsonNode* type = reason.Find("type");
  const std::string_view word = type == nullptr ? "" : type->String().value_or("");
  if (word == "length") {
    answer->finish = FinishReason::kLength;
  } else if (word == "stop") {
    answer->finish = FinishReason::kStop;
  } else if (!reason.IsNull()) {
    const std::string said = ClaimText(reason.Find("message"));
    Fail(answer, "the server ended it (" + (word.empty() ? "no reason" : std::string(word)) + ")" +
                     (said.empty() ? "" : ": " + said));
  }
}

class SglangAdapter : public Adapter {
 public:
  std::string_view name() const override { return "sglang"; }

  ServerClaims Learn(ServerCalls* server) override {
    SglangSurvey survey = SurveySglang(server);
    load_path_ = survey.load_path;
    return std::move(survey.claims);
  }

  HttpRequest Ask(const Request& request, const std::string& salt) const override {
    HttpRequest http;
    http.path = "/generate";
    http.body = Body(request, -1, true, salt).dump();
    http.format = BodyFormat::kSse;
    return http;
  }

  void ReadEvent(const JsonNode& event, const Request& request, Answer* answer) const override {
    const std::string error = ErrorIn(event);
    if (!error.empty()) return Fail(answer, "the server said: " + error);
    const JsonNode* meta = event.Find("meta_info");
    if (meta == nullptr) return Fail(answer, "an event without meta_info");
    const JsonNode* index = event.Find("index");
    if (index != nullptr && index->Int64().value_or(0) != 0) {
      return Fail(answer, "an event of another item (index " + index->raw() + ")");
    }
    ReadTokens(event, *meta, request, answer);
    ReadMeta(*meta, answer);
  }

  HttpRequest AskScores(const std::vector<TokenId>& ids, int top_logprobs,
                        const std::string& salt) const override {
    Request request;
    request.prompt_ids = ids;
    request.max_new_tokens = 1;
    request.top_logprobs = top_logprobs;
    HttpRequest http;
    http.path = "/generate";
    http.body = Body(request, 0, false, salt).dump();
    return http;
  }

  std::vector<TokenLogprob> ReadScores(const JsonNode& answer,
                                       const std::vector<TokenId>& ids) const override {
    const JsonNode* entries = answer.FindPath({"meta_info", "input_token_logprobs"});
    const JsonNode* tops = answer.FindPath({"meta_info", "input_top_logprobs"});
    const int num_tops = tops != nullptr && tops->IsArray() ? INT32_MAX : 0;
    std::vector<TokenId> scored;
    // The first entry is of a token that nothing comes before: its logprob is null.
    auto scores =
        entries == nullptr ? std::nullopt : ReadEntries(*entries, tops, 1, num_tops, &scored);
    if (!scores || !std::equal(scored.begin(), scored.end(), ids.begin() + 1, ids.end())) {
      throw Error(ErrorCode::kTarget,
                  "the logprobs of the prompt are not those of the tokens sent");
    }
    return std::move(*scores);
  }

  FlushAttempt TryFlush(ServerCalls* server) override {
    const Reply reply = server->Post(kFlushPath, "{}");
    // 400: not idle yet, or another flush under way. It passes.
    return {{reply.Ok(), reply.error}, reply.status == kBadRequest};
  }

  TokenizerEndPoints tokenizer() const override {
    TokenizerEndPoints points;
    points.encode = {"/v1/tokenize", "/tokenize"};
    points.text = "prompt";
    points.add_special = "add_special_tokens";
    points.ids = "tokens";
    points.decode = {"/v1/detokenize", "/detokenize"};
    points.decode_constants = R"({"skip_special_tokens": false})";  // By default it skips them.
    points.decoded = "text";
    return points;
  }

  std::string load_path() const override { return load_path_; }

  LoadSample ReadLoad(const std::string& body) const override { return ReadSglangLoad(body); }

 private:
  static void ReadTokens(const JsonNode& event, const JsonNode& meta, const Request& request,
                         Answer* answer) {
    const JsonNode* entries = meta.Find("output_token_logprobs");
    std::vector<TokenId> logprob_ids;
    std::optional<std::vector<TokenLogprob>> logprobs;
    if (request.top_logprobs && entries != nullptr) {
      logprobs = ReadEntries(*entries, meta.Find("output_top_logprobs"), 0, *request.top_logprobs,
                             &logprob_ids);
      if (!logprobs) return Fail(answer, "a logprob that is no number, or without candidates");
    }
    // Servers before 0.4 give IDs with the logprobs only.
    const JsonNode* node = event.Find("output_ids");
    auto ids = node != nullptr ? ReadTokenIds(*node) : logprob_ids;
    if (!ids) return Fail(answer, "an output ID that is no token ID");
    if (node == nullptr && entries == nullptr) {
      return Fail(answer, "the server gives token IDs with logprobs only");
    }
    const auto total = ClaimedInt(meta.Find("completion_tokens"), 0);
    if (!total) return Fail(answer, "an event without completion_tokens");
    const auto whole = Merge(std::move(*ids), static_cast<size_t>(*total), &answer->token_ids);
    if (!whole) {
      return Fail(answer, "the stream lost tokens: " + std::to_string(*total) + " were counted");
    }
    if (logprobs && !Merge(std::move(*logprobs), static_cast<size_t>(*total), &answer->logprobs)) {
      return Fail(answer, "the stream lost logprobs");
    }
    if (const JsonNode* text = event.Find("text"); text != nullptr && text->String()) {
      const std::string now(*text->String());
      answer->text = *whole ? now : answer->text.value_or("") + now;
    }
  }

  static void ReadMeta(const JsonNode& meta, Answer* answer) {
    const auto keep = [&meta](const char* name, std::optional<int>* value) {
      if (const auto now = ClaimedInt(meta.Find(name), 0)) *value = now;
    };
    keep("prompt_tokens", &answer->prompt_tokens);
    keep("cached_tokens", &answer->cached_tokens);
    keep("total_retractions", &answer->preemptions);
    keep("num_retractions", &answer->preemptions);
    answer->running.reset();
    keep("num_running_reqs", &answer->running);
    if (const std::string weights = ClaimText(meta.Find("weight_version")); !weights.empty()) {
      answer->fingerprint = "weights " + weights;
    }
    if (const JsonNode* reason = meta.Find("finish_reason")) ReadFinish(*reason, answer);
  }

  std::string load_path_;
};

}  // namespace

bool IsSglang(ServerCalls* server) {
  return IsSglangInfo(GetSglangInfo(server));
}

std::unique_ptr<Adapter> MakeSglangAdapter(const RemoteOptions&) {
  return std::make_unique<SglangAdapter>();
}

}  // namespace detcheck
