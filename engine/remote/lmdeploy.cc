#include "engine/remote/lmdeploy.h"

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

/// [[logprob, token ID], …], whose IDs must be `ids`; absent where they are not whole.
std::optional<std::vector<TokenLogprob>> ReadLogprobs(const JsonNode* list,
                                                      const std::vector<TokenId>& ids) {
  if (list == nullptr || list->items().size() != ids.size()) return std::nullopt;
  std::vector<TokenLogprob> read;
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto& entry = list->items()[i].items();
    const auto number = entry.size() < 2 ? std::nullopt : entry[0].Double();
    if (!number || !std::isfinite(*number) || ReadTokenId(entry[1]) != ids[i]) return std::nullopt;
    read.push_back({*number, {}});
  }
  return read;
}

class LmdeployAdapter : public Adapter {
 public:
  explicit LmdeployAdapter(const RemoteOptions& options) : served_model_(options.served_model) {}

  std::string_view name() const override { return "lmdeploy"; }

  ServerClaims Learn(ServerCalls* server) override {
    const ListedModel model = RequireModel(server, served_model_, "a server of LMDeploy");
    ServerClaims learnt;
    Claims claims;
    claims.Add("engine.name", "lmdeploy");
    claims.AddModel(model.id);
    Capabilities& can = learnt.facts.capabilities;
    can.ids_in = can.ids_out = can.logprobs = can.ignore_eos = true;
    can.stream = can.abort = can.text = can.prefix_cache = true;
    has_metrics_ = false;
    if (const Reply page = server->Get("/metrics"); page.Ok()) {
      const Metrics metrics(page.body);
      has_metrics_ = metrics.Find("lmdeploy:num_requests_running") != nullptr;
      // The only place that tells of the configuration: there is no version, and no information.
      const MetricSample* config = metrics.Find("lmdeploy:backend_config_info");
      const std::string caching = config == nullptr ? "" : config->Label("enable_prefix_caching");
      if (!caching.empty()) {
        can.prefix_cache = caching == "True" || caching == "true";
        claims.Add("engine.radix_cache", can.prefix_cache ? "on" : "off");
      }
    }
    can.batch_witness = has_metrics_;
    learnt.subject = claims.manifest();
    return learnt;
  }

  std::string Refuses(const Request& request) const override {
    return request.sampling.temperature > 0.0
               ? "LMDeploy's /generate takes no seed: at temperatures above 0 nothing repeats"
               : "";
  }

  HttpRequest Ask(const Request& request, const std::string& /*salt*/) const override {
    // Temperature 0 alone is not greedy on every one of its engines.
    const Json body = {{"session_id", -1},
                       {"input_ids", request.prompt_ids},
                       {"max_tokens", request.max_new_tokens},
                       {"temperature", request.sampling.temperature},
                       {"top_p", request.sampling.top_p},
                       {"top_k", 1},
                       {"min_p", request.sampling.min_p},
                       {"repetition_penalty", 1.0},
                       {"ignore_eos", request.ignore_eos},
                       {"stop", Json::array()},
                       {"stop_token_ids", Json::array()},
                       {"skip_special_tokens", true},
                       {"spaces_between_special_tokens", true},
                       {"include_stop_str_in_output", false},
                       {"return_logprob", request.top_logprobs.has_value()},
                       {"stream", true}};
    HttpRequest http;
    http.path = "/generate";
    http.body = body.dump();
    http.format = BodyFormat::kSse;
    return http;
  }

  void ReadEvent(const JsonNode& event, const Request& request, Answer* answer) const override {
    const std::string error = ErrorIn(event);
    if (!error.empty()) return Fail(answer, "the server said: " + error);
    const JsonNode* node = event.Find("output_ids");
    const JsonNode* meta = event.Find("meta_info");
    const auto ids = node == nullptr ? std::nullopt : ReadTokenIds(*node);
    if (!ids || meta == nullptr) return Fail(answer, "an event without output_ids and meta_info");
    if (request.top_logprobs && !ids->empty()) {
      const auto read = ReadLogprobs(meta->Find("output_token_logprobs"), *ids);
      if (!read) return Fail(answer, "logprobs that are not those of the tokens");
      answer->logprobs.insert(answer->logprobs.end(), read->begin(), read->end());
    }
    answer->token_ids.insert(answer->token_ids.end(), ids->begin(), ids->end());
    const auto total = ClaimedInt(meta->Find("completion_tokens"), 0);
    if (total != static_cast<int>(answer->token_ids.size())) {
      return Fail(answer, "the stream lost tokens");
    }
    if (const JsonNode* text = event.Find("text"); text != nullptr && text->String()) {
      answer->text = answer->text.value_or("") + std::string(*text->String());
    }
    if (const auto count = ClaimedInt(meta->Find("prompt_tokens"), 0))
      answer->prompt_tokens = count;
    ReadFinish(meta->FindPath({"finish_reason", "type"}), answer);
  }

  TokenizerEndPoints tokenizer() const override {
    TokenizerEndPoints points;
    points.encode = {"/v1/encode"};
    points.constants = R"({"do_preprocess": false})";
    points.text = "input";
    points.add_special = "add_bos";
    points.ids = "input_ids";
    return points;
  }

  std::string load_path() const override { return has_metrics_ ? "/metrics" : ""; }

  LoadSample ReadLoad(const std::string& body) const override {
    return ReadQueues(Metrics(body), "lmdeploy:");
  }

 private:
  static void ReadFinish(const JsonNode* type, Answer* answer) {
    const std::string_view word = type == nullptr ? "" : type->String().value_or("");
    if (word == "length") {
      answer->finish = FinishReason::kLength;
    } else if (word == "stop") {
      answer->finish = FinishReason::kStop;
    } else if (!word.empty()) {
      Fail(answer, "the server ended it (" + std::string(word) + ")");
    }
  }

  const std::string served_model_;
  bool has_metrics_ = false;
};

}  // namespace

bool IsLmdeploy(ServerCalls* server) {
  const auto model = FindModel(server, "");
  return model && model->owned_by == "lmdeploy";
}

std::unique_ptr<Adapter> MakeLmdeployAdapter(const RemoteOptions& options) {
  return std::make_unique<LmdeployAdapter>(options);
}

}  // namespace detcheck
