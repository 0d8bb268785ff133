#include "engine/remote/trtllm.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/remote/answer_parts.h"
#include "engine/remote/claims.h"
#include "engine/remote/completions.h"
#include "engine/remote/server_error.h"

namespace detcheck {
namespace {

using Json = nlohmann::ordered_json;

/// Logprobs of an event's tokens: theirs alone, as the candidates are keyed by text, in which two
/// tokens may be one.
std::optional<std::vector<TokenLogprob>> ReadLogprobs(const JsonNode* logprobs, size_t num_tokens) {
  const JsonNode* chosen = logprobs == nullptr ? nullptr : logprobs->Find("token_logprobs");
  if (chosen == nullptr || chosen->items().size() != num_tokens) return std::nullopt;
  std::vector<TokenLogprob> read;
  for (const JsonNode& item : chosen->items()) {
    const auto number = item.Double();
    if (!number || !std::isfinite(*number)) return std::nullopt;
    read.push_back({*number, {}});
  }
  return read;
}

class TrtllmAdapter : public Adapter {
 public:
  explicit TrtllmAdapter(const RemoteOptions& options) : served_model_(options.served_model) {}

  std::string_view name() const override { return "trtllm"; }

  ServerClaims Learn(ServerCalls* server) override {
    const ListedModel model = RequireModel(server, served_model_, "a server of TensorRT-LLM");
    model_ = model.id;
    ServerClaims learnt;
    Claims claims;
    claims.Add("engine.name", "tensorrt-llm");
    claims.Add("engine.version", server->Get("/version").root.Find("version"));
    claims.AddModel(model.id);
    learnt.subject = claims.manifest();
    Capabilities& can = learnt.facts.capabilities;
    can.ids_in = can.ids_out = can.logprobs = can.seed = can.ignore_eos = true;
    can.stream = can.abort = can.cached_tokens = can.prefix_cache = true;
    return learnt;
  }

  HttpRequest Ask(const Request& request, const std::string& /*salt*/) const override {
    const Sampling& sampling = request.sampling;
    Json body = {{"model", model_},
                 {"prompt", request.prompt_ids},
                 {"max_tokens", request.max_new_tokens},
                 {"min_tokens", 0},
                 {"temperature", sampling.temperature},
                 {"top_p", sampling.top_p},
                 {"top_k", std::max(sampling.top_k, 0)},
                 {"top_p_min", 0.0},
                 {"min_p", sampling.min_p},
                 {"repetition_penalty", 1.0},
                 {"presence_penalty", 0.0},
                 {"frequency_penalty", 0.0},
                 {"seed", sampling.seed},
                 {"n", 1},
                 {"use_beam_search", false},
                 {"ignore_eos", request.ignore_eos},
                 {"stop", Json::array()},
                 {"stop_token_ids", Json::array()},
                 {"add_special_tokens", false},
                 {"detokenize", false},
                 {"stream", true},
                 {"stream_options", {{"include_usage", true}}}};
    // 0 would give none. More than one needs the PyTorch backend, and would come keyed by text.
    if (request.top_logprobs) body["logprobs"] = 1;
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
    const JsonNode* choice = OnlyChoice(event, answer);
    if (choice == nullptr) return;
    const JsonNode* node = choice->Find("token_ids");
    const auto ids = node == nullptr || node->IsNull() ? std::nullopt : ReadTokenIds(*node);
    if (!ids) return Fail(answer, "an event without token_ids, which detokenize: false gives");
    answer->token_ids.insert(answer->token_ids.end(), ids->begin(), ids->end());
    if (request.top_logprobs && !ids->empty()) {
      const auto read = ReadLogprobs(choice->Find("logprobs"), ids->size());
      if (!read) return Fail(answer, "logprobs that are not as many as the tokens");
      answer->logprobs.insert(answer->logprobs.end(), read->begin(), read->end());
    }
    ReadCompletionFinish(*choice, answer);
  }

  TokenizerEndPoints tokenizer() const override {
    TokenizerEndPoints points;
    points.encode = {"/_internal/tokenize"};
    points.text = "prompt";
    points.ids = "tokens";
    return points;
  }

 private:
  const std::string served_model_;
  std::string model_;
};

}  // namespace

bool IsTrtllm(ServerCalls* server) {
  const auto model = FindModel(server, "");
  return model && model->owned_by == "tensorrt_llm";
}

std::unique_ptr<Adapter> MakeTrtllmAdapter(const RemoteOptions& options) {
  return std::make_unique<TrtllmAdapter>(options);
}

}  // namespace detcheck
