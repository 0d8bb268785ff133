#include "engine/remote/llamacpp.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/remote/answer_parts.h"
#include "engine/remote/claims.h"
#include "engine/remote/prometheus.h"
#include "engine/remote/server_error.h"

namespace detcheck {
namespace {

using Json = nlohmann::ordered_json;

/// Seeds are 32 bits wide; this one asks for a random seed.
constexpr uint64_t kRandomSeed = 4294967295;
constexpr double kNear = 1e-5;  // Settings are echoed as float32.

/// The server's defaults sample, with penalties and filters of their own: all are set.
Json Body(const Request& request) {
  const Sampling& sampling = request.sampling;
  const bool greedy = sampling.temperature == 0.0;
  return {{"prompt", request.prompt_ids},
          {"n_predict", request.max_new_tokens},
          {"temperature", sampling.temperature},
          {"top_k", greedy ? 1 : std::max(sampling.top_k, 0)},
          {"top_p", sampling.top_p},
          {"min_p", sampling.min_p},
          {"typical_p", 1.0},
          {"seed", sampling.seed},
          {"samplers", greedy ? Json::array({"temperature"})
                              : Json::array({"top_k", "top_p", "min_p", "temperature"})},
          {"repeat_penalty", 1.0},
          {"presence_penalty", 0.0},
          {"frequency_penalty", 0.0},
          {"dry_multiplier", 0.0},
          {"xtc_probability", 0.0},
          {"dynatemp_range", 0.0},
          {"mirostat", 0},
          {"n_keep", 0},
          {"n_probs", request.top_logprobs.value_or(0)},
          {"post_sampling_probs", false},
          {"return_tokens", true},
          {"cache_prompt", request.cache == CacheWish::kAllow},
          {"id_slot", -1},
          {"ignore_eos", request.ignore_eos},
          {"stop", Json::array()},
          {"logit_bias", Json::array()},
          {"stream", true}};
}

std::optional<TokenCandidate> ReadCandidate(const JsonNode& node) {
  const JsonNode* id = node.Find("id");
  const JsonNode* logprob = node.Find("logprob");
  const auto token = id == nullptr ? std::nullopt : ReadTokenId(*id);
  const auto number = logprob == nullptr ? std::nullopt : logprob->Double();
  if (!token || !number || !std::isfinite(*number)) return std::nullopt;
  return TokenCandidate{*token, *number};
}

/// One token's logprob and its candidates; absent where they are not whole, or of another token.
std::optional<TokenLogprob> ReadLogprob(const JsonNode& node, TokenId token, int most) {
  const auto chosen = ReadCandidate(node);
  if (!chosen || chosen->id != token) return std::nullopt;
  TokenLogprob logprob{chosen->logprob, {}};
  if (const JsonNode* tops = node.Find("top_logprobs")) {
    for (const JsonNode& top : tops->items()) {
      const auto candidate = ReadCandidate(top);
      if (!candidate) return std::nullopt;
      logprob.top.push_back(*candidate);
    }
  }
  SortCandidates(&logprob.top, static_cast<size_t>(most));
  return logprob;
}

/// Slots that decode are the running batch; those that have no token yet may wait until there is
/// room for their prompt. Where it is not told which these are, all count.
void ReadSlots(const JsonNode& slots, LoadSample* sample) {
  sample->running = sample->total = 0;
  for (const JsonNode& slot : slots.items()) {
    const JsonNode* busy = slot.Find("is_processing");
    if (busy == nullptr || !busy->Bool().value_or(false)) continue;
    ++*sample->total;
    const JsonNode* next = slot.Find("next_token");  // An array of one in newer builds.
    if (next != nullptr && next->IsArray() && !next->items().empty()) next = &next->items().front();
    const JsonNode* decoded = next == nullptr ? nullptr : next->Find("n_decoded");
    if (decoded == nullptr) sample->counts_starting = true;
    if (decoded == nullptr || decoded->Int64().value_or(0) > 0) ++*sample->running;
  }
}

/// What the server ran with, where that is not what it was asked for; empty: it is.
std::string OtherSettings(const JsonNode& settings, const Request& request) {
  const auto differs = [&settings](const char* name, double asked) {
    const JsonNode* node = settings.Find(name);
    const auto ran = node == nullptr ? std::nullopt : node->Double();
    return ran && std::abs(*ran - asked) > kNear * std::max(1.0, std::abs(asked));
  };
  const Sampling& sampling = request.sampling;
  const std::pair<const char*, double> asked[] = {{"temperature", sampling.temperature},
                                                  {"top_p", sampling.top_p},
                                                  {"min_p", sampling.min_p},
                                                  {"repeat_penalty", 1.0},
                                                  {"seed", static_cast<double>(sampling.seed)}};
  for (const auto& [name, value] : asked) {
    if (differs(name, value)) {
      return "the server ran with " + std::string(name) + " " + settings.Find(name)->raw() +
             ", which it was not asked for";
    }
  }
  return "";
}

class LlamacppAdapter : public Adapter {
 public:
  std::string_view name() const override { return "llamacpp"; }

  ServerClaims Learn(ServerCalls* server) override;

  std::string Refuses(const Request& request) const override {
    const bool seeded = request.sampling.temperature > 0.0;
    if (seeded && request.sampling.seed >= kRandomSeed) return "llama.cpp's seeds are of 32 bits";
    // Without candidates it gives no logprobs at all.
    return request.top_logprobs == 0 ? "llama.cpp gives no logprobs without candidates" : "";
  }

  HttpRequest Ask(const Request& request, const std::string& /*salt*/) const override {
    HttpRequest http;
    http.path = "/completion";
    http.body = Body(request).dump();
    http.format = BodyFormat::kSse;
    return http;
  }

  void ReadEvent(const JsonNode& event, const Request& request, Answer* answer) const override {
    const std::string error = ErrorIn(event);
    if (!error.empty()) return Fail(answer, "the server said: " + error);
    if (const JsonNode* index = event.Find("index"); index && index->Int64().value_or(0) != 0) {
      return Fail(answer, "an event of another prompt (index " + index->raw() + ")");
    }
    ReadTokens(event, request, answer);
    const JsonNode* stop = event.Find("stop");
    if (stop != nullptr && stop->Bool().value_or(false)) ReadEnd(event, request, answer);
  }

  /// Slot by slot; 501 without --slot-save-path.
  FlushAttempt TryFlush(ServerCalls* server) override {
    for (int slot = 0; slot < num_slots_; ++slot) {
      const Reply reply = server->Post("/slots/" + std::to_string(slot) + "?action=erase", "{}");
      if (!reply.Ok()) return {{false, reply.error}, false};
    }
    return {{num_slots_ > 0, "slots erased"}, false};
  }

  TokenizerEndPoints tokenizer() const override {
    TokenizerEndPoints points;
    points.encode = {"/tokenize"};
    points.constants = R"({"parse_special": true, "with_pieces": false})";
    points.text = "content";
    points.add_special = "add_special";
    points.ids = "tokens";
    points.decode = {"/detokenize"};
    points.decoded = "content";
    return points;
  }

  std::string load_path() const override { return load_path_; }

  LoadSample ReadLoad(const std::string& body) const override {
    LoadSample sample;
    const ParsedJson slots = ParseJson(body);
    if (slots.ok() && slots.root.IsArray()) {
      ReadSlots(slots.root, &sample);
      return sample;
    }
    const Metrics metrics(body);
    const auto running = metrics.Sum("llamacpp:requests_processing");
    if (!running) return sample;
    sample.running = static_cast<int>(*running);
    sample.counts_starting = true;
    sample.total =
        static_cast<int>(*running + metrics.Sum("llamacpp:requests_deferred").value_or(0.0));
    return sample;
  }

 private:
  static void ReadTokens(const JsonNode& event, const Request& request, Answer* answer) {
    const JsonNode* node = event.Find("tokens");
    const auto ids =
        node == nullptr ? std::optional<std::vector<TokenId>>(std::in_place) : ReadTokenIds(*node);
    if (!ids) return Fail(answer, "a token that is no token ID");
    if (const JsonNode* text = event.Find("content"); text != nullptr && text->String()) {
      answer->text = answer->text.value_or("") + std::string(*text->String());
    }
    answer->token_ids.insert(answer->token_ids.end(), ids->begin(), ids->end());
    if (!request.top_logprobs || ids->empty()) return;
    const JsonNode* list = event.Find("completion_probabilities");
    if (list == nullptr || list->items().size() != ids->size()) {
      return Fail(answer, "tokens without completion_probabilities");
    }
    for (size_t i = 0; i < ids->size(); ++i) {
      auto one = ReadLogprob(list->items()[i], (*ids)[i], *request.top_logprobs);
      if (!one) return Fail(answer, "logprobs that are not those of the tokens");
      answer->logprobs.push_back(std::move(*one));
    }
  }

  static void ReadEnd(const JsonNode& event, const Request& request, Answer* answer) {
    answer->prompt_tokens = ClaimedInt(event.Find("tokens_evaluated"), 0);
    // tokens_cached counts what the slot holds after the answer; this is what was read.
    answer->cached_tokens = ClaimedInt(event.FindPath({"timings", "cache_n"}), 0);
    answer->counted_tokens = ClaimedInt(event.Find("tokens_predicted"), 0);
    answer->leaves_out_tokens = true;  // Those that end inside a character.
    const JsonNode* truncated = event.Find("truncated");
    if (truncated != nullptr && truncated->Bool().value_or(false)) {
      return Fail(answer, "the server cut the prompt to fit its context");
    }
    if (const JsonNode* settings = event.Find("generation_settings")) {
      const std::string other = OtherSettings(*settings, request);
      if (!other.empty()) return Fail(answer, other);
    }
    const JsonNode* type = event.Find("stop_type");
    const std::string_view word = type == nullptr ? "" : type->String().value_or("");
    if (word == "limit") {
      answer->finish = FinishReason::kLength;
    } else if (word == "eos" || word == "word") {
      answer->finish = FinishReason::kStop;
    } else {
      Fail(answer, "the server ended it (" + std::string(word) + ")");
    }
  }

  int num_slots_ = 0;
  std::string load_path_;
};

ServerClaims LlamacppAdapter::Learn(ServerCalls* server) {
  const Reply props = server->Get("/props");
  const JsonNode* slots = props.root.Find("total_slots");
  if (slots == nullptr) {
    throw Error(ErrorCode::kTarget, server->endpoint().label +
                                        ": not a server of llama.cpp: /props tells no slots" +
                                        (props.Ok() ? "" : " (" + props.error + ")"));
  }
  ServerClaims learnt;
  Claims claims;
  claims.Add("engine.name", "llama.cpp");
  claims.Add("engine.version", props.root.Find("build_info"));
  if (const JsonNode* path = props.root.Find("model_path")) {
    claims.AddModel(path->String().value_or(""));
  }
  learnt.facts.max_running_requests = ClaimedInt(slots);
  num_slots_ = learnt.facts.max_running_requests.value_or(0);
  claims.Add("engine.max_running_requests", learnt.facts.max_running_requests);
  learnt.facts.context_len =
      ClaimedInt(props.root.FindPath({"default_generation_settings", "n_ctx"}));
  claims.Add("model.context_len", learnt.facts.context_len);
  const Reply models = server->Get("/v1/models");
  if (const JsonNode* data = models.root.Find("data"); data != nullptr && !data->items().empty()) {
    learnt.facts.vocab_size = ClaimedInt(data->items().front().FindPath({"meta", "n_vocab"}));
    claims.Add("model.vocab_size", learnt.facts.vocab_size);
  }
  load_path_.clear();
  for (const char* path : {"/slots", "/metrics"}) {
    const Reply reply = server->Get(path);
    if (!reply.Ok() || !ReadLoad(reply.body).running) continue;
    load_path_ = path;
    break;
  }
  Capabilities& can = learnt.facts.capabilities;
  can.ids_in = can.ids_out = can.logprobs = can.top_ids = can.seed = can.ignore_eos = true;
  can.stream = can.abort = can.cached_tokens = can.cache_bypass = can.flush = can.text = true;
  can.prefix_cache = true;
  can.batch_witness = !load_path_.empty();
  learnt.subject = claims.manifest();
  return learnt;
}

}  // namespace

bool IsLlamacpp(ServerCalls* server) {
  const Reply props = server->Get("/props");
  return props.Ok() && props.root.Find("total_slots") != nullptr;
}

std::unique_ptr<Adapter> MakeLlamacppAdapter(const RemoteOptions&) {
  return std::make_unique<LlamacppAdapter>();
}

}  // namespace detcheck
