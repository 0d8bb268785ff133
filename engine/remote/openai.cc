#include "engine/remote/openai.h"

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

constexpr int kMostLogprobs = 5;

class OpenaiAdapter : public Adapter {
 public:
  explicit OpenaiAdapter(const RemoteOptions& options) : served_model_(options.served_model) {}

  std::string_view name() const override { return "openai"; }

  ServerClaims Learn(ServerCalls* server) override {
    const ListedModel model = RequireModel(server, served_model_, "an OpenAI server");
    model_ = model.id;
    ServerClaims learnt;
    Claims claims;
    claims.Add("engine.name", "openai");
    claims.AddModel(model.id);
    learnt.facts.context_len = model.max_model_len;
    claims.Add("model.context_len", learnt.facts.context_len);
    learnt.subject = claims.manifest();
    Capabilities& can = learnt.facts.capabilities;
    can.ids_in = can.text_in = can.logprobs = can.seed = can.ignore_eos = can.stream = true;
    can.abort = can.cached_tokens = can.text = can.prefix_cache = true;
    return learnt;
  }

  std::string Refuses(const Request& request) const override {
    const Sampling& sampling = request.sampling;
    if (sampling.temperature == 0.0) return "";
    if (sampling.top_k > 0) return "OpenAI's completions take no top_k";
    return sampling.min_p > 0.0 ? "OpenAI's completions take no min_p" : "";
  }

  HttpRequest Ask(const Request& request, const std::string& /*salt*/) const override {
    Json body = {{"model", model_},
                 {"max_tokens", request.max_new_tokens},
                 {"temperature", request.sampling.temperature},
                 {"top_p", request.sampling.top_p},
                 {"presence_penalty", 0.0},
                 {"frequency_penalty", 0.0},
                 {"seed", request.sampling.seed},
                 {"n", 1},
                 {"stream", true},
                 {"stream_options", {{"include_usage", true}}}};
    if (request.prompt_text) {
      body["prompt"] = *request.prompt_text;
    } else {
      body["prompt"] = request.prompt_ids;
    }
    // The candidates are keyed by text, in which two of them may be one: they are not read.
    if (request.top_logprobs)
      body["logprobs"] = std::clamp(*request.top_logprobs, 1, kMostLogprobs);
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
    if (const JsonNode* print = event.Find("system_fingerprint"); print && print->String()) {
      answer->fingerprint = std::string(*print->String());
    }
    answer->num_tokens = answer->num_tokens.value_or(0);
    if (const JsonNode* choice = OnlyChoice(event, answer)) ReadChoice(*choice, request, answer);
    // At the end it tells how many there were.
    if (const auto told = ClaimedInt(event.FindPath({"usage", "completion_tokens"}), 0)) {
      answer->num_tokens = std::max(*told, *answer->num_tokens);
    }
  }

 private:
  static void ReadChoice(const JsonNode& choice, const Request& request, Answer* answer) {
    const JsonNode* text = choice.Find("text");
    const bool has_text = text != nullptr && text->String() && !text->String()->empty();
    answer->text = answer->text.value_or("") + std::string(has_text ? *text->String() : "");
    const size_t before = answer->logprobs.size();
    const JsonNode* logprobs = choice.Find("logprobs");
    if (request.top_logprobs && logprobs != nullptr && !logprobs->IsNull()) {
      ReadLogprobs(*logprobs, answer);
    }
    const auto num_told = static_cast<int>(answer->logprobs.size() - before);
    *answer->num_tokens += std::max(num_told, has_text ? 1 : 0);
    ReadCompletionFinish(choice, answer);
  }

  static void ReadLogprobs(const JsonNode& logprobs, Answer* answer) {
    const JsonNode* tokens = logprobs.Find("tokens");
    const JsonNode* chosen = logprobs.Find("token_logprobs");
    if (tokens == nullptr || chosen == nullptr ||
        tokens->items().size() != chosen->items().size()) {
      return Fail(answer, "logprobs that are not as many as the tokens");
    }
    for (size_t i = 0; i < tokens->items().size(); ++i) {
      const auto token = tokens->items()[i].String();
      const auto number = chosen->items()[i].Double();
      if (!token || !number || !std::isfinite(*number)) {
        return Fail(answer, "a logprob that is no number, or of no token");
      }
      answer->token_bytes.emplace_back(*token);
      answer->logprobs.push_back({*number, {}});
    }
  }

  const std::string served_model_;
  std::string model_;
};

}  // namespace

bool IsOpenai(ServerCalls* server) {
  return FindModel(server, "").has_value();
}

std::unique_ptr<Adapter> MakeOpenaiAdapter(const RemoteOptions& options) {
  return std::make_unique<OpenaiAdapter>(options);
}

}  // namespace detcheck
