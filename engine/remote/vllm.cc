#include "engine/remote/vllm.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/remote/answer_parts.h"
#include "engine/remote/claims.h"
#include "engine/remote/completions.h"
#include "engine/remote/prometheus.h"
#include "engine/remote/server_error.h"

namespace detcheck {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kTokenPrefix[] = "token_id:";

Json Body(const Request& request, const std::string& model, const std::string& salt) {
  const Sampling& sampling = request.sampling;
  return {{"model", model},
          {"prompt", request.prompt_ids},
          {"max_tokens", request.max_new_tokens},
          {"min_tokens", 0},
          {"temperature", sampling.temperature},
          {"top_p", sampling.top_p},
          {"top_k", sampling.top_k < 0 ? 0 : sampling.top_k},
          {"min_p", sampling.min_p},
          {"repetition_penalty", 1.0},
          {"presence_penalty", 0.0},
          {"frequency_penalty", 0.0},
          {"seed", sampling.seed},
          {"n", 1},
          {"ignore_eos", request.ignore_eos},
          {"stop", Json::array()},
          {"stop_token_ids", Json::array()},
          {"skip_special_tokens", true},
          {"spaces_between_special_tokens", true},
          {"add_special_tokens", false},
          {"cache_salt", salt}};
}

/// The ID in "token_id:123", or in "123".
std::optional<TokenId> IdIn(std::string_view text) {
  if (text.starts_with(kTokenPrefix)) text.remove_prefix(sizeof(kTokenPrefix) - 1);
  TokenId id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || id < 0) return std::nullopt;
  return id;
}

std::optional<double> FiniteIn(const JsonNode& node) {
  const auto number = node.Double();
  return number && std::isfinite(*number) ? number : std::nullopt;
}

/// Logprobs of one event's tokens, whose IDs must be `ids`; absent where they are not whole.
std::optional<std::vector<TokenLogprob>> ReadLogprobs(const JsonNode& logprobs,
                                                      const std::vector<TokenId>& ids, int most) {
  const JsonNode* tokens = logprobs.Find("tokens");
  const JsonNode* chosen = logprobs.Find("token_logprobs");
  const JsonNode* tops = logprobs.Find("top_logprobs");
  if (tokens == nullptr || chosen == nullptr || tokens->items().size() != ids.size() ||
      chosen->items().size() != ids.size()) {
    return std::nullopt;
  }
  std::vector<TokenLogprob> read;
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto logprob = FiniteIn(chosen->items()[i]);
    if (!logprob || IdIn(tokens->items()[i].String().value_or("")) != ids[i]) return std::nullopt;
    TokenLogprob one{*logprob, {}};
    if (most > 0) {
      if (tops == nullptr || tops->items().size() <= i) return std::nullopt;
      for (const auto& [key, value] : tops->items()[i].members()) {
        const auto id = IdIn(key);
        const auto top = FiniteIn(value);
        if (!id || !top) return std::nullopt;
        one.top.push_back({*id, *top});
      }
    }
    // The chosen token is there, too, where it is none of the best.
    SortCandidates(&one.top, static_cast<size_t>(most));
    read.push_back(std::move(one));
  }
  return read;
}

/// Of /server_info.
void ClaimConfig(const JsonNode& info, Claims* claims, TargetFacts* facts) {
  if (const JsonNode* mode = info.FindPath({"vllm_env", "VLLM_BATCH_INVARIANT"})) {
    const bool on = mode->Bool().value_or(mode->Int64().value_or(0) != 0);
    claims->Add("engine.mode", on ? "deterministic" : "default");
    claims->Add("engine.determinism_claimed", on ? "VLLM_BATCH_INVARIANT is set" : "none");
  }
  const JsonNode* config = info.Find("vllm_config");
  if (config == nullptr) return;
  facts->chunk_size = ClaimedInt(config->FindPath({"scheduler_config", "max_num_batched_tokens"}));
  claims->Add("engine.chunked_prefill_size", facts->chunk_size);
  facts->max_running_requests = ClaimedInt(config->FindPath({"scheduler_config", "max_num_seqs"}));
  claims->Add("engine.max_running_requests", facts->max_running_requests);
  std::string dtype = ClaimText(config->FindPath({"model_config", "dtype"}));
  if (dtype.starts_with("torch.")) dtype = dtype.substr(sizeof("torch.") - 1);
  claims->Add("model.dtype", dtype);
  claims->Add("parallelism.tp_size", config->FindPath({"parallel_config", "tensor_parallel_size"}));
  claims->Add("parallelism.pp_size",
              config->FindPath({"parallel_config", "pipeline_parallel_size"}));
}

class VllmAdapter : public Adapter {
 public:
  explicit VllmAdapter(const RemoteOptions& options) : served_model_(options.served_model) {}

  std::string_view name() const override { return "vllm"; }

  ServerClaims Learn(ServerCalls* server) override;

  std::string Refuses(const Request& request) const override {
    const double t = request.sampling.temperature;
    return t > 0.0 && t < 0.01 ? "vLLM raises a temperature below 0.01 to 0.01 without a word" : "";
  }

  HttpRequest Ask(const Request& request, const std::string& salt) const override {
    Json body = Body(request, model_, salt);
    if (request.top_logprobs) body["logprobs"] = *request.top_logprobs;
    body["return_token_ids"] = true;
    body["return_tokens_as_token_ids"] = true;
    body["stream"] = true;
    body["stream_options"] = {{"include_usage", true}};
    HttpRequest http;
    http.path = "/v1/completions";
    http.body = body.dump();
    http.format = BodyFormat::kSse;
    return http;
  }

  void ReadEvent(const JsonNode& event, const Request& request, Answer* answer) const override {
    const std::string error = ErrorIn(event);
    if (!error.empty()) return Fail(answer, "the server said: " + error);
    ReadUsage(event, answer);
    if (const std::string mark = ClaimText(event.Find("system_fingerprint")); !mark.empty()) {
      answer->fingerprint = mark;
    }
    const JsonNode* choice = OnlyChoice(event, answer);
    if (choice == nullptr) return;
    const JsonNode* logprobs = choice->Find("logprobs");
    const auto ids = IdsOf(*choice, logprobs);
    if (!ids) return Fail(answer, "an event without token_ids: too old a release of vLLM?");
    answer->token_ids.insert(answer->token_ids.end(), ids->begin(), ids->end());
    if (const JsonNode* text = choice->Find("text"); text != nullptr && text->String()) {
      answer->text = answer->text.value_or("") + std::string(*text->String());
    }
    if (request.top_logprobs && !ids->empty()) {
      auto read =
          logprobs == nullptr ? std::nullopt : ReadLogprobs(*logprobs, *ids, *request.top_logprobs);
      if (!read) return Fail(answer, "logprobs that are not those of the tokens");
      for (TokenLogprob& one : *read) answer->logprobs.push_back(std::move(one));
    }
    ReadCompletionFinish(*choice, answer);
  }

  HttpRequest AskScores(const std::vector<TokenId>& ids, int top_logprobs,
                        const std::string& salt) const override {
    Request request;
    request.prompt_ids = ids;
    request.max_new_tokens = 1;
    Json body = Body(request, model_, salt);
    body["prompt_logprobs"] = top_logprobs;
    body["stream"] = false;  // Prompt logprobs do not go with a stream.
    HttpRequest http;
    http.path = "/v1/completions";
    http.body = body.dump();
    return http;
  }

  std::vector<TokenLogprob> ReadScores(const JsonNode& answer,
                                       const std::vector<TokenId>& ids) const override;

  FlushAttempt TryFlush(ServerCalls* server) override {
    const Reply reply = server->Post("/reset_prefix_cache", "{}");
    // 200 is said whether or not the cache was emptied: what tells is that nothing was cached.
    return {{reply.Ok(), reply.error}, false};
  }
  bool salts() const override { return true; }

  TokenizerEndPoints tokenizer() const override {
    TokenizerEndPoints points;
    points.encode = {"/tokenize"};
    points.constants = points.decode_constants = Json{{"model", model_}}.dump();
    points.text = "prompt";
    points.add_special = "add_special_tokens";
    points.ids = "tokens";
    points.decode = {"/detokenize"};
    points.decoded = "prompt";
    return points;
  }

  std::string load_path() const override { return has_metrics_ ? "/metrics" : ""; }

  LoadSample ReadLoad(const std::string& body) const override {
    const Metrics metrics(body);
    LoadSample sample = ReadQueues(metrics, "vllm:");
    if (!sample.running) return sample;
    sample.generated = metrics.Sum("vllm:generation_tokens_total");
    sample.preempted = metrics.Sum("vllm:num_preemptions_total");
    sample.cache_queries = metrics.Sum("vllm:prefix_cache_queries_total");
    sample.cache_hits = metrics.Sum("vllm:prefix_cache_hits_total");
    if (sample
            .cache_hits) {  // What comes out of other storage than the GPU's counts as cached, too.
      *sample.cache_hits += metrics.Sum("vllm:external_prefix_cache_hits_total").value_or(0.0);
    }
    // With speculative decoding a step gives a request several tokens.
    if (metrics.Sum("vllm:spec_decode_num_drafts_total").value_or(0.0) == 0.0) {
      sample.token_steps = metrics.Sum("vllm:iteration_tokens_total_count");
    }
    return sample;
  }

 private:
  /// The event's token IDs; an event that only ends the answer may have none.
  static std::optional<std::vector<TokenId>> IdsOf(const JsonNode& choice,
                                                   const JsonNode* logprobs) {
    const JsonNode* ids = choice.Find("token_ids");
    if (ids != nullptr && !ids->IsNull()) return ReadTokenIds(*ids);
    const bool has_text = choice.Find("text") != nullptr && choice.Find("text")->String() != "";
    const bool has_logprobs = logprobs != nullptr && !logprobs->IsNull();
    return has_text || has_logprobs ? std::nullopt
                                    : std::optional<std::vector<TokenId>>(std::in_place);
  }
  void LearnFromMetrics(const Metrics& metrics, Claims* claims, TargetFacts* facts);

  const std::string served_model_;
  std::string model_;
  bool has_metrics_ = false;
};

ServerClaims VllmAdapter::Learn(ServerCalls* server) {
  const ListedModel model = RequireModel(server, served_model_, "a vLLM server");
  model_ = model.id;
  ServerClaims learnt;
  Claims claims;
  claims.Add("engine.name", "vllm");
  claims.Add("engine.version", server->Get("/version").root.Find("version"));
  if (model.root.empty()) {
    claims.Add("model.name", Shown(model.id, ""));
  } else {
    claims.AddModel(model.root);
  }
  claims.Add("model.context_len", model.max_model_len);
  learnt.facts.context_len = model.max_model_len;
  // With VLLM_SERVER_DEV_MODE=1 alone.
  const Reply info = server->Get("/server_info?config_format=json");
  ClaimConfig(info.root, &claims, &learnt.facts);
  Capabilities& can = learnt.facts.capabilities;
  can.ids_in = can.ids_out = can.logprobs = can.top_ids = can.prompt_logprobs = true;
  can.seed = can.ignore_eos = can.stream = can.abort = can.cached_tokens = can.text = true;
  can.cache_bypass = can.flush = can.prefix_cache = true;
  const Reply page = server->Get("/metrics");
  if (page.Ok()) LearnFromMetrics(Metrics(page.body), &claims, &learnt.facts);
  can.batch_witness = has_metrics_;
  learnt.subject = claims.manifest();
  return learnt;
}

void VllmAdapter::LearnFromMetrics(const Metrics& metrics, Claims* claims, TargetFacts* facts) {
  has_metrics_ = metrics.Find("vllm:num_requests_running") != nullptr;
  if (const MetricSample* start = metrics.Find("process_start_time_seconds")) {
    claims->Add("process.start", std::to_string(std::llround(start->value)));
  }
  const MetricSample* config = metrics.Find("vllm:cache_config_info");
  if (config == nullptr) return;
  const auto size = [config](std::string_view label) -> std::optional<int> {
    const std::optional<TokenId> value = IdIn(config->Label(label));
    return value && *value > 0 ? value : std::nullopt;
  };
  facts->page_size = size("block_size");
  claims->Add("engine.page_size", facts->page_size);
  if (const auto blocks = size("num_gpu_blocks"); blocks && facts->page_size) {
    facts->kv_pool_tokens = *blocks * *facts->page_size;
    claims->Add("engine.kv_pool_tokens", facts->kv_pool_tokens);
  }
  claims->Add("engine.kv_cache_dtype", Shown(config->Label("cache_dtype"), ""));
  const std::string caching = config->Label("enable_prefix_caching");
  if (caching.empty()) return;
  facts->capabilities.prefix_cache = caching == "True" || caching == "true";
  claims->Add("engine.radix_cache", facts->capabilities.prefix_cache ? "on" : "off");
}

std::vector<TokenLogprob> VllmAdapter::ReadScores(const JsonNode& answer,
                                                  const std::vector<TokenId>& ids) const {
  const auto refuse = [] {
    return Error(ErrorCode::kTarget, "the logprobs of the prompt are not those of the tokens sent");
  };
  const JsonNode* choices = answer.Find("choices");
  if (choices == nullptr || choices->items().size() != 1) throw refuse();
  const JsonNode* list = choices->items().front().Find("prompt_logprobs");
  if (list == nullptr || list->items().size() != ids.size()) throw refuse();
  std::vector<TokenLogprob> scores;
  for (size_t i = 1; i < ids.size(); ++i) {  // The first entry is null: nothing comes before it.
    TokenLogprob score;
    bool found = false;
    for (const auto& [key, value] : list->items()[i].members()) {
      const auto id = IdIn(key);
      const JsonNode* logprob = value.Find("logprob");
      const auto number = logprob == nullptr ? std::nullopt : FiniteIn(*logprob);
      if (!id || !number) throw refuse();
      score.top.push_back({*id, *number});
      if (*id != ids[i]) continue;
      score.logprob = *number;
      found = true;
    }
    if (!found) throw refuse();
    SortCandidates(&score.top, score.top.size());
    scores.push_back(std::move(score));
  }
  return scores;
}

}  // namespace

bool IsVllm(ServerCalls* server) {
  const auto model = FindModel(server, "");
  return model && model->owned_by == "vllm";
}

std::unique_ptr<Adapter> MakeVllmAdapter(const RemoteOptions& options) {
  return std::make_unique<VllmAdapter>(options);
}

}  // namespace detcheck
