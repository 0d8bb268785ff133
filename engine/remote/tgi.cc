#include "engine/remote/tgi.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/remote/answer_parts.h"
#include "engine/remote/claims.h"
#include "engine/remote/prometheus.h"
#include "engine/remote/server_error.h"

namespace detcheck {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMetrics = "/metrics";
/// Of candidates, where the server was not started with another limit.
constexpr int kMostCandidates = 5;

std::string TextOf(const JsonNode* node) {
  return node == nullptr ? "" : std::string(node->String().value_or(""));
}

bool IsInfo(const Reply& info) {
  return info.Ok() && info.root.Find("model_id") != nullptr &&
         info.root.Find("max_total_tokens") != nullptr;
}

/// Anything that is set turns sampling on: a temperature of 0 is refused, a top_p of 1 too.
Json Parameters(const Request& request) {
  const Sampling& sampling = request.sampling;
  Json parameters = {{"max_new_tokens", request.max_new_tokens},
                     {"do_sample", sampling.temperature > 0.0},
                     {"repetition_penalty", 1.0},
                     {"frequency_penalty", 0.0},
                     {"return_full_text", false},
                     {"stop", Json::array()},
                     {"watermark", false},
                     {"details", true},
                     {"decoder_input_details", false},
                     {"seed", sampling.seed}};
  if (sampling.temperature > 0.0) {
    parameters["temperature"] = sampling.temperature;
    if (sampling.top_k > 0) parameters["top_k"] = sampling.top_k;
    if (sampling.top_p < 1.0) parameters["top_p"] = sampling.top_p;
  }
  if (request.top_logprobs.value_or(0) > 0) {
    parameters["top_n_tokens"] = std::min(*request.top_logprobs, kMostCandidates);
  }
  return parameters;
}

std::optional<TokenCandidate> ReadCandidate(const JsonNode& node) {
  const JsonNode* id = node.Find("id");
  const JsonNode* logprob = node.Find("logprob");
  const auto token = id == nullptr ? std::nullopt : ReadTokenId(*id);
  const auto number = logprob == nullptr ? std::nullopt : logprob->Double();
  if (!token || !number || !std::isfinite(*number)) return std::nullopt;
  return TokenCandidate{*token, *number};
}

class TgiAdapter : public Adapter {
 public:
  std::string_view name() const override { return "tgi"; }

  ServerClaims Learn(ServerCalls* server) override;

  std::string Refuses(const Request& request) const override {
    const Sampling& sampling = request.sampling;
    return sampling.temperature > 0.0 && sampling.min_p > 0.0 ? "TGI takes no min_p" : "";
  }

  HttpRequest Ask(const Request& request, const std::string& /*salt*/) const override {
    HttpRequest http;
    http.path = "/generate_stream";
    http.body =
        Json{{"inputs", request.prompt_text.value_or("")}, {"parameters", Parameters(request)}}
            .dump();
    http.format = BodyFormat::kSse;
    return http;
  }

  /// Errors come as events of a stream that began with status 200, refused requests too.
  void ReadEvent(const JsonNode& event, const Request& request, Answer* answer) const override {
    const std::string error = ErrorIn(event);
    if (!error.empty()) return Fail(answer, "the server said: " + error);
    const JsonNode* token = event.Find("token");
    const auto chosen = token == nullptr ? std::nullopt : ReadCandidate(*token);
    if (!chosen) return Fail(answer, "an event without a token's ID and logprob");
    answer->token_ids.push_back(chosen->id);
    if (request.top_logprobs) {
      TokenLogprob logprob{chosen->logprob, {}};
      if (const JsonNode* tops = event.Find("top_tokens")) {
        for (const JsonNode& top : tops->items()) {
          const auto candidate = ReadCandidate(top);
          if (!candidate) return Fail(answer, "a candidate without an ID or a logprob");
          logprob.top.push_back(*candidate);
        }
      }
      SortCandidates(&logprob.top, static_cast<size_t>(*request.top_logprobs));
      answer->logprobs.push_back(std::move(logprob));
    }
    const JsonNode* text = event.Find("generated_text");
    if (text != nullptr && text->String()) answer->text = std::string(*text->String());
    const JsonNode* details = event.Find("details");
    if (details != nullptr && !details->IsNull()) ReadEnd(*details, request, answer);
  }

  std::string load_path() const override { return load_path_; }

  /// A gauge is there once it was set: on a new server nothing runs.
  LoadSample ReadLoad(const std::string& body) const override {
    const Metrics metrics(body);
    LoadSample sample;
    sample.running = static_cast<int>(metrics.Max("tgi_batch_current_size").value_or(0.0));
    sample.total = *sample.running + static_cast<int>(metrics.Sum("tgi_queue_size").value_or(0.0));
    sample.generated = metrics.Sum("tgi_request_generated_tokens_sum").value_or(0.0);
    sample.batches = metrics.Sum("tgi_batch_next_size_count").value_or(0.0);
    sample.batched = metrics.Sum("tgi_batch_next_size_sum").value_or(0.0);
    return sample;
  }

  TokenizerEndPoints tokenizer() const override {
    TokenizerEndPoints end_points;
    end_points.encode = {"/tokenize"};
    end_points.text = "inputs";
    return end_points;
  }

 private:
  static void ReadEnd(const JsonNode& details, const Request& request, Answer* answer) {
    answer->prompt_tokens = ClaimedInt(details.Find("input_length"), 0);
    answer->counted_tokens = ClaimedInt(details.Find("generated_tokens"), 0);
    const JsonNode* seed = details.Find("seed");
    const auto ran = seed == nullptr ? std::nullopt : seed->Int64();
    if (request.sampling.temperature > 0.0 && ran &&
        *ran != static_cast<int64_t>(request.sampling.seed)) {
      return Fail(answer, "the server ran with seed " + seed->raw());
    }
    const std::string reason = TextOf(details.Find("finish_reason"));
    if (reason == "length") {
      answer->finish = FinishReason::kLength;
    } else if (reason == "eos_token" || reason == "stop_sequence") {
      answer->finish = FinishReason::kStop;
    } else {
      Fail(answer, "the server ended it (" + reason + ")");
    }
  }

  std::string load_path_;
};

ServerClaims TgiAdapter::Learn(ServerCalls* server) {
  const Reply info = server->Get("/info");
  if (!IsInfo(info)) {
    throw Error(ErrorCode::kTarget, server->endpoint().label +
                                        ": not a TGI server: /info tells no model" +
                                        (info.Ok() ? "" : " (" + info.error + ")"));
  }
  ServerClaims learnt;
  Claims claims;
  claims.Add("engine.name", "tgi");
  claims.Add("engine.version", info.root.Find("version"));
  claims.Add("engine.commit", info.root.Find("sha"));
  claims.AddModel(TextOf(info.root.Find("model_id")));
  claims.Add("model.revision", info.root.Find("model_sha"));
  learnt.facts.context_len = ClaimedInt(info.root.Find("max_total_tokens"));
  claims.Add("model.context_len", learnt.facts.context_len);
  // The most that it takes at once, running or waiting: a step of more would be turned away.
  learnt.facts.max_running_requests = ClaimedInt(info.root.Find("max_concurrent_requests"));
  claims.AddArguments(info.root, {"docker_label", "max_concurrent_requests", "max_input_tokens",
                                  "max_total_tokens", "max_client_batch_size"});
  load_path_ = server->Get(kMetrics).Ok() ? kMetrics : "";
  Capabilities& can = learnt.facts.capabilities;
  can.text_in = can.ids_out = can.logprobs = can.top_ids = can.seed = can.ignore_eos = true;
  can.stream = can.abort = can.text = can.prefix_cache = true;
  can.batch_witness = !load_path_.empty();
  learnt.subject = claims.manifest();
  return learnt;
}

}  // namespace

bool IsTgi(ServerCalls* server) {
  return IsInfo(server->Get("/info"));
}

std::unique_ptr<Adapter> MakeTgiAdapter(const RemoteOptions&) {
  return std::make_unique<TgiAdapter>();
}

}  // namespace detcheck
