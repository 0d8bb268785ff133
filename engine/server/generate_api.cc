#include "engine/server/generate_api.h"

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/server/generate_request.h"
#include "engine/server/group_stream.h"

namespace detcheck {
namespace {

using json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

json FinishReasonJson(const Completion& completion) {
  switch (completion.finish_reason) {
    case FinishReason::kLength:
      return {{"type", "length"}, {"length", completion.token_ids.size()}};
    case FinishReason::kStop:
      return {{"type", "stop"}, {"matched", completion.token_ids.back()}};
    case FinishReason::kAbort:
      return {{"type", "abort"}, {"message", "cancelled"}};
    case FinishReason::kError:
      return {{"type", "abort"}, {"message", completion.error}};
  }
  return nullptr;
}

/// Writes the lists of logprobs as SGLang has them: [logprob, token ID, text or null].
class LogprobLists {
 public:
  LogprobLists(const ServedModel& model, const GenerateItem& item) : model_(model), item_(item) {}

  void AddTo(const PromptAnswer& answer, json* meta) const {
    json input = json::array();
    json input_top = json::array();
    const std::vector<TokenId>& prompt = item_.engine.request.prompt_ids;
    const size_t start = item_.logprob_start_len < 0 ? prompt.size() : item_.logprob_start_len;
    for (size_t i = start; i < prompt.size(); ++i) {
      // The first of the list has no logprob, wherever it begins.
      const bool known = i > start && i - 1 < answer.prompt_logprobs.size();
      input.push_back(
          Entry(prompt[i], known ? json(answer.prompt_logprobs[i - 1].logprob) : json()));
      input_top.push_back(known ? Candidates(answer.prompt_logprobs[i - 1]) : json());
    }
    json output = json::array();
    json output_top = json::array();
    const Completion& completion = answer.completion;
    for (size_t i = 0; i < completion.logprobs.size(); ++i) {
      output.push_back(Entry(completion.token_ids[i], completion.logprobs[i].logprob));
      output_top.push_back(Candidates(completion.logprobs[i]));
    }
    (*meta)["input_token_logprobs"] = std::move(input);
    (*meta)["output_token_logprobs"] = std::move(output);
    if (item_.top_logprobs_num == 0) return;
    (*meta)["input_top_logprobs"] = std::move(input_top);
    (*meta)["output_top_logprobs"] = std::move(output_top);
  }

 private:
  json Entry(TokenId id, json logprob) const {
    json text = nullptr;
    if (item_.return_text_in_logprobs) {
      if (const auto known = model_.TokenText(id)) text = *known;
    }
    return json::array({std::move(logprob), id, std::move(text)});
  }

  json Candidates(const TokenLogprob& logprob) const {
    json list = json::array();
    for (const TokenCandidate& candidate : logprob.top) {
      list.push_back(Entry(candidate.id, candidate.logprob));
    }
    return list;
  }

  const ServedModel& model_;
  const GenerateItem& item_;
};

json AnswerJson(const ServedModel& model, const GenerateItem& item, const PromptAnswer& answer,
                Clock::time_point begin) {
  const Completion& completion = answer.completion;
  json reply;
  if (model.codec) {
    reply["text"] = model.Decode(completion.token_ids, item.skip_special_tokens, answer.ended);
  }
  reply["output_ids"] = completion.token_ids;
  if (item.return_prompt_token_ids) reply["prompt_token_ids"] = item.engine.request.prompt_ids;
  json meta;
  meta["id"] = item.rid;
  meta["finish_reason"] = answer.ended ? FinishReasonJson(completion) : json();
  meta["prompt_tokens"] = item.engine.request.prompt_ids.size();
  meta["completion_tokens"] = completion.token_ids.size();
  meta["weight_version"] = "default";
  meta["num_running_reqs"] = answer.num_running;
  if (answer.ended) {
    meta["cached_tokens"] = completion.witness.cached_tokens.value_or(0);
    meta["num_retractions"] = completion.witness.preemptions.value_or(0);
    meta["e2e_latency"] = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  if (item.return_logprob) LogprobLists(model, item).AddTo(answer, &meta);
  reply["meta_info"] = std::move(meta);
  return reply;
}

HttpReply Whole(const ServedModel& model, const GenerateRequest& request, const HttpPeer& peer) {
  const Clock::time_point begin = Clock::now();
  const std::vector<PromptAnswer> answers = RunToEnd(model, request.EngineRequests(), peer);
  json list = json::array();
  for (size_t i = 0; i < answers.size(); ++i) {
    list.push_back(AnswerJson(model, request.items[i], answers[i], begin));
  }
  HttpReply reply;
  reply.body = (request.is_batch ? list : list[0]).dump();
  return reply;
}

HttpReply Stream(const ServedModel& model, GenerateRequest request, const HttpPeer& peer) {
  const auto shared = std::make_shared<const GenerateRequest>(std::move(request));
  const Clock::time_point begin = Clock::now();
  return StreamGroup(model.loop, shared->EngineRequests(), peer,
                     [&model, shared, begin](int i, const PromptAnswer& answer) {
                       if (answer.completion.finish_reason == FinishReason::kError) {
                         return json{{"error", {{"message", answer.completion.error}}}}.dump();
                       }
                       json event = AnswerJson(model, shared->items[i], answer, begin);
                       if (shared->is_batch) event["index"] = i;
                       return event.dump();
                     });
}

}  // namespace

HttpReply Generate(const ServedModel& model, const ServedRequest& http, const HttpPeer& peer) {
  GenerateRequest request = ReadGenerateRequest(model, http.body);
  return request.stream ? Stream(model, std::move(request), peer) : Whole(model, request, peer);
}

HttpReply HealthGenerate(const ServedModel& model, const HttpPeer& peer) {
  EngineRequest probe;
  probe.request.prompt_ids = {0};
  probe.request.max_new_tokens = 1;
  probe.request.cache = CacheWish::kBypass;
  RunToEnd(model, {probe}, peer);
  return {};
}

}  // namespace detcheck
