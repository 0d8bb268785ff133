#include "engine/server/completions_api.h"

#include <atomic>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/server/completions_request.h"
#include "engine/server/group_stream.h"

namespace detcheck {
namespace {

using json = nlohmann::ordered_json;

json FinishReasonJson(const PromptAnswer& answer) {
  if (!answer.ended) return nullptr;
  switch (answer.completion.finish_reason) {
    case FinishReason::kLength:
      return "length";
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kAbort:
    case FinishReason::kError:
      break;
  }
  return "abort";
}

/// The answers to one request as JSON, whole or event by event.
class CompletionsJson {
 public:
  CompletionsJson(const ServedModel& model, CompletionsRequest request)
      : model_(model), request_(std::move(request)), told_(request_.prompts.size()) {
    static std::atomic<uint64_t> count = 0;
    head_["id"] = "cmpl-" + std::to_string(++count);
    head_["object"] = "text_completion";
    head_["created"] = std::time(nullptr);
    head_["model"] = model_.name;
  }

  const CompletionsRequest& request() const { return request_; }

  json Whole(const std::vector<PromptAnswer>& answers) {
    json choices = json::array();
    for (size_t i = 0; i < answers.size(); ++i) {
      json choice = NewPart(i, answers[i]);
      choice["prompt_logprobs"] = request_.prompt_logprobs ? PromptLogprobs(i, answers[i]) : json();
      choices.push_back(std::move(choice));
    }
    json reply = head_;
    reply["choices"] = std::move(choices);
    reply["usage"] = Usage();
    return reply;
  }

  json Event(int i, const PromptAnswer& answer) {
    json event = head_;
    event["choices"] = json::array({NewPart(i, answer)});
    return event;
  }

  json UsageEvent() const {
    json event = head_;
    event["choices"] = json::array();
    event["usage"] = Usage();
    return event;
  }

 private:
  /// What has been told of one prompt's answer.
  struct Told {
    bool any = false;
    size_t num_tokens = 0;
    size_t text_len = 0;  ///< Bytes.
    int cached_tokens = 0;
  };

  /// The choice with what `answer` has beyond what has been told.
  json NewPart(size_t i, const PromptAnswer& answer) {
    Told& told = told_[i];
    const Completion& completion = answer.completion;
    const std::string text =
        model_.Decode(completion.token_ids, request_.skip_special_tokens, answer.ended);
    json choice;
    choice["index"] = i;
    choice["text"] = text.substr(told.text_len);
    choice["logprobs"] = request_.logprobs ? Logprobs(completion, told) : json();
    choice["finish_reason"] = FinishReasonJson(answer);
    choice["stop_reason"] = nullptr;
    if (request_.return_token_ids) {
      choice["token_ids"] =
          std::vector<TokenId>(completion.token_ids.begin() + static_cast<int64_t>(told.num_tokens),
                               completion.token_ids.end());
      if (!told.any) choice["prompt_token_ids"] = request_.prompts[i].request.prompt_ids;
    }
    told = {true, completion.token_ids.size(), text.size(),
            completion.witness.cached_tokens.value_or(0)};
    return choice;
  }

  json Logprobs(const Completion& completion, const Told& told) const {
    json tokens = json::array();
    json values = json::array();
    json tops = json::array();
    json offsets = json::array();
    size_t offset = told.text_len;
    for (size_t i = told.num_tokens; i < completion.logprobs.size(); ++i) {
      const TokenId id = completion.token_ids[i];
      const TokenLogprob& logprob = completion.logprobs[i];
      tokens.push_back(TokenName(id));
      values.push_back(logprob.logprob);
      json top = {{TokenName(id), logprob.logprob}};
      for (const TokenCandidate& candidate : logprob.top) {
        top[TokenName(candidate.id)] = candidate.logprob;
      }
      tops.push_back(std::move(top));
      offsets.push_back(offset);
      offset += model_.TokenText(id).value_or("").size();
    }
    return {{"tokens", std::move(tokens)},
            {"token_logprobs", std::move(values)},
            {"top_logprobs", std::move(tops)},
            {"text_offset", std::move(offsets)}};
  }

  std::string TokenName(TokenId id) const {
    const auto text = model_.TokenText(id);
    if (!text || request_.return_tokens_as_token_ids) return "token_id:" + std::to_string(id);
    return *text;
  }

  /// One object for each token but the first, which has null: its own and the best candidates'
  /// logprobs by token ID. The rank of a token that is none of the best is not known.
  json PromptLogprobs(size_t i, const PromptAnswer& answer) const {
    const std::vector<TokenId>& ids = request_.prompts[i].request.prompt_ids;
    json list = json::array({nullptr});
    for (size_t k = 0; k < answer.prompt_logprobs.size(); ++k) {
      const TokenLogprob& logprob = answer.prompt_logprobs[k];
      json entry;
      const auto add = [&](TokenId id, double value, json rank) {
        entry[std::to_string(id)] = {{"logprob", value},
                                     {"rank", std::move(rank)},
                                     {"decoded_token", model_.TokenText(id).value_or("")}};
      };
      add(ids[k + 1], logprob.logprob, nullptr);
      for (size_t rank = 0; rank < logprob.top.size(); ++rank) {
        add(logprob.top[rank].id, logprob.top[rank].logprob, rank + 1);
      }
      list.push_back(std::move(entry));
    }
    return list;
  }

  json Usage() const {
    size_t prompt_tokens = 0;
    size_t completion_tokens = 0;
    int cached_tokens = 0;
    for (size_t i = 0; i < told_.size(); ++i) {
      prompt_tokens += request_.prompts[i].request.prompt_ids.size();
      completion_tokens += told_[i].num_tokens;
      cached_tokens += told_[i].cached_tokens;
    }
    return {{"prompt_tokens", prompt_tokens},
            {"total_tokens", prompt_tokens + completion_tokens},
            {"completion_tokens", completion_tokens},
            {"prompt_tokens_details", {{"cached_tokens", cached_tokens}}}};
  }

  const ServedModel& model_;
  const CompletionsRequest request_;
  std::vector<Told> told_;
  json head_;
};

json ErrorJson(const std::string& message) {
  return {{"error", {{"message", message}, {"type", "InternalServerError"}, {"code", 500}}}};
}

}  // namespace

HttpReply Completions(const ServedModel& model, const ServedRequest& http, const HttpPeer& peer) {
  const auto out =
      std::make_shared<CompletionsJson>(model, ReadCompletionsRequest(model, http.body));
  if (!out->request().stream) {
    HttpReply reply;
    reply.body = out->Whole(RunToEnd(model, out->request().prompts, peer)).dump();
    return reply;
  }
  const auto event = [out](int i, const PromptAnswer& answer) {
    const Completion& completion = answer.completion;
    if (completion.finish_reason == FinishReason::kError) return ErrorJson(completion.error).dump();
    return out->Event(i, answer).dump();
  };
  const auto last = [out] {
    return out->request().include_usage ? out->UsageEvent().dump() : std::string();
  };
  return StreamGroup(model.loop, out->request().prompts, peer, event, last);
}

HttpReply Models(const ServedModel& model) {
  const json card = {{"id", model.name},
                     {"object", "model"},
                     {"created", 0},
                     {"owned_by", "detcheck"},
                     {"root", model.name},
                     {"parent", nullptr},
                     {"max_model_len", model.config().context_len}};
  HttpReply reply;
  reply.body = json{{"object", "list"}, {"data", json::array({card})}}.dump();
  return reply;
}

}  // namespace detcheck
