#include "engine/remote/ollama.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/remote/answer_parts.h"
#include "engine/remote/claims.h"
#include "engine/remote/server_error.h"

namespace detcheck {
namespace {

using Json = nlohmann::ordered_json;

std::string TextOf(const JsonNode* node) {
  return node == nullptr ? "" : std::string(node->String().value_or(""));
}

/// The model's entry in what /api/tags or /api/ps lists; without a name the first one; null where
/// it is not there. A name without a tag is that of ":latest".
const JsonNode* FindListed(const Reply& list, const std::string& name) {
  const JsonNode* models = list.root.Find("models");
  if (models == nullptr) return nullptr;
  for (const JsonNode& model : models->items()) {
    const std::string listed = TextOf(model.Find("name"));
    if (name.empty() || listed == name || listed == name + ":latest") return &model;
  }
  return nullptr;
}

/// Whatever stands beside `options` instead of inside it is passed over by the server. `num_ctx` is
/// that of the model as it is loaded: another one would load it anew.
Json Options(const Request& request, std::optional<int> num_ctx) {
  const Sampling& sampling = request.sampling;
  const bool greedy = sampling.temperature == 0.0;
  Json options = {{"temperature", sampling.temperature},
                  {"top_k", greedy ? 1 : std::max(sampling.top_k, 0)},
                  {"top_p", sampling.top_p},
                  {"min_p", sampling.min_p},
                  {"typical_p", 1.0},
                  {"seed", sampling.seed},
                  {"repeat_penalty", 1.0},
                  {"repeat_last_n", 0},
                  {"presence_penalty", 0.0},
                  {"frequency_penalty", 0.0},
                  {"num_predict", request.max_new_tokens},
                  {"num_keep", 0},
                  {"stop", Json::array()}};
  if (num_ctx) options["num_ctx"] = *num_ctx;
  return options;
}

/// Where bytes are not told, the text is the token.
std::optional<std::string> ReadBytes(const JsonNode& logprob) {
  const JsonNode* bytes = logprob.Find("bytes");
  if (bytes == nullptr || bytes->IsNull()) return TextOf(logprob.Find("token"));
  std::string read;
  for (const JsonNode& byte : bytes->items()) {
    const auto value = byte.Int64();
    if (!value || *value < 0 || *value > 255) return std::nullopt;
    read += static_cast<char>(*value);
  }
  return read;
}

class OllamaAdapter : public Adapter {
 public:
  explicit OllamaAdapter(const RemoteOptions& options) : served_model_(options.served_model) {}

  std::string_view name() const override { return "ollama"; }

  ServerClaims Learn(ServerCalls* server) override;

  HttpRequest Ask(const Request& request, const std::string& /*salt*/) const override {
    const Json body = {{"model", model_},   {"prompt", request.prompt_text.value_or("")},
                       {"raw", true},       {"stream", true},
                       {"think", false},    {"truncate", false},
                       {"shift", false},    {"logprobs", request.top_logprobs.has_value()},
                       {"top_logprobs", 0}, {"options", Options(request, num_ctx_)}};
    HttpRequest http;
    http.path = "/api/generate";
    http.body = body.dump();
    http.format = BodyFormat::kNdjson;
    return http;
  }

  void ReadEvent(const JsonNode& event, const Request& request, Answer* answer) const override {
    const std::string error = ErrorIn(event);
    if (!error.empty()) return Fail(answer, "the server said: " + error);
    const std::string text = TextOf(event.Find("response"));
    answer->text = answer->text.value_or("") + text;
    const size_t before = answer->logprobs.size();
    if (request.top_logprobs) ReadLogprobs(event, answer);
    const auto num_told = static_cast<int>(answer->logprobs.size() - before);
    answer->num_tokens = answer->num_tokens.value_or(0) + std::max(num_told, text.empty() ? 0 : 1);
    const JsonNode* done = event.Find("done");
    if (done != nullptr && done->Bool().value_or(false)) ReadEnd(event, answer);
  }

  /// A model that is no longer loaded has no cache.
  FlushAttempt TryFlush(ServerCalls* server) override {
    const Reply unload =
        server->Post("/api/generate", Json{{"model", model_}, {"keep_alive", 0}}.dump());
    if (!unload.Ok()) return {{false, unload.error}, false};
    const Reply loaded = server->Get("/api/ps");
    if (!loaded.Ok()) return {{false, loaded.error}, false};
    if (FindListed(loaded, model_) != nullptr) return {{false, "the model is still loaded"}, true};
    return {{true, "the model was unloaded"}, false};
  }

 private:
  static void ReadLogprobs(const JsonNode& event, Answer* answer) {
    const JsonNode* logprobs = event.Find("logprobs");
    if (logprobs == nullptr) return;
    for (const JsonNode& item : logprobs->items()) {
      const JsonNode* node = item.Find("logprob");
      const double number = node == nullptr ? NAN : node->Double().value_or(NAN);
      auto bytes = ReadBytes(item);
      if (!std::isfinite(number) || !bytes) {
        return Fail(answer, "a logprob that is no number, or of no token");
      }
      answer->token_bytes.push_back(*std::move(bytes));
      answer->logprobs.push_back({number, {}});
    }
  }

  static void ReadEnd(const JsonNode& event, Answer* answer) {
    answer->prompt_tokens = ClaimedInt(event.Find("prompt_eval_count"), 0);
    // Tokens without text of their own did not come as events.
    if (const auto count = ClaimedInt(event.Find("eval_count"), 0)) answer->num_tokens = count;
    const std::string reason = TextOf(event.Find("done_reason"));
    if (reason == "length") {
      answer->finish = FinishReason::kLength;
    } else if (reason == "stop") {
      answer->finish = FinishReason::kStop;
    } else {
      Fail(answer, "the server ended it (" + reason + ")");
    }
  }

  void LearnModel(ServerCalls* server, Claims* claims, ServerClaims* learnt);

  const std::string served_model_;
  std::string model_;
  std::optional<int> num_ctx_;
};

ServerClaims OllamaAdapter::Learn(ServerCalls* server) {
  const Reply version = server->Get("/api/version");
  if (version.root.Find("version") == nullptr) {
    throw Error(ErrorCode::kTarget, server->endpoint().label +
                                        ": not an Ollama server: /api/version tells none" +
                                        (version.Ok() ? "" : " (" + version.error + ")"));
  }
  ServerClaims learnt;
  Claims claims;
  claims.Add("engine.name", "ollama");
  claims.Add("engine.version", version.root.Find("version"));
  LearnModel(server, &claims, &learnt);
  learnt.subject = claims.manifest();
  Capabilities& can = learnt.facts.capabilities;
  can.text_in = can.logprobs = can.seed = can.ignore_eos = can.stream = true;
  can.abort = can.flush = can.text = can.prefix_cache = true;
  return learnt;
}

void OllamaAdapter::LearnModel(ServerCalls* server, Claims* claims, ServerClaims* learnt) {
  const Reply tags = server->Get("/api/tags");
  const JsonNode* listed = FindListed(tags, served_model_);
  if (listed == nullptr) {
    throw Error(served_model_.empty() ? ErrorCode::kTarget : ErrorCode::kUsage,
                server->endpoint().label + ": /api/tags lists no model" +
                    (served_model_.empty() ? "" : " " + Shown(served_model_, "")));
  }
  model_ = TextOf(listed->Find("name"));
  claims->AddModel(model_);
  claims->Add("model.weight_version", listed->Find("digest"));
  claims->Add("model.architecture", listed->FindPath({"details", "family"}));
  claims->Add("model.quantization", listed->FindPath({"details", "quantization_level"}));
  if (!num_ctx_) {  // The size that it is loaded with where nobody asks for one.
    server->Post("/api/generate", Json{{"model", model_}}.dump());
    const Reply loaded = server->Get("/api/ps");
    const JsonNode* entry = FindListed(loaded, model_);
    if (entry != nullptr) num_ctx_ = ClaimedInt(entry->Find("context_length"));
  }
  learnt->facts.context_len = num_ctx_;
  claims->Add("model.context_len", num_ctx_);
  const Reply show = server->Post("/api/show", Json{{"model", model_}}.dump());
  const JsonNode* adds_bos = show.root.FindPath({"model_info", "tokenizer.ggml.add_bos_token"});
  const JsonNode* bos = show.root.FindPath({"model_info", "tokenizer.ggml.bos_token_id"});
  if (adds_bos != nullptr && adds_bos->Bool().value_or(false) && bos != nullptr) {
    if (const auto id = ReadTokenId(*bos)) learnt->added_ids = {*id};
  }
}

}  // namespace

bool IsOllama(ServerCalls* server) {
  return server->Get("/api/version").root.Find("version") != nullptr;
}

std::unique_ptr<Adapter> MakeOllamaAdapter(const RemoteOptions& options) {
  return std::make_unique<OllamaAdapter>(options);
}

}  // namespace detcheck
