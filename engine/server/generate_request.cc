#include "engine/server/generate_request.h"

#include <atomic>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/server/http_types.h"
#include "engine/server/json_fields.h"
#include "engine/server/sampling_fields.h"

namespace detcheck {
namespace {

using nlohmann::json;

/// Below this SGLang decodes greedily.
constexpr double kGreedyBelow = 1e-6;
constexpr int kDefaultNewTokens = 128;

std::string NewRid() {
  static std::atomic<uint64_t> count = 0;
  return "detcheck-" + std::to_string(++count);
}

struct Prompts {
  bool is_batch = false;
  std::vector<std::vector<TokenId>> ids;
};

void RequireCount(const json& list) {
  if (list.size() > kMostPrompts) {
    throw ApiError(400, "more than " + std::to_string(kMostPrompts) + " prompts");
  }
}

Prompts ReadTexts(const ServedModel& model, const json& text) {
  if (text.is_array()) RequireCount(text);
  Prompts prompts{.is_batch = text.is_array(), .ids = {}};
  if (text.is_string()) prompts.ids.push_back(model.Encode(text.get<std::string>(), "text"));
  for (size_t i = 0; text.is_array() && i < text.size(); ++i) {
    const std::string place = "text[" + std::to_string(i) + "]";
    if (!text[i].is_string()) throw ApiError(400, place + " is not a text");
    prompts.ids.push_back(model.Encode(text[i].get<std::string>(), place));
  }
  if (prompts.ids.empty()) throw ApiError(400, "text is neither a text nor a list of texts");
  return prompts;
}

Prompts ReadPrompts(const ServedModel& model, const JsonFields& fields) {
  const json* text = fields.Find("text");
  const json* ids = fields.Find("input_ids");
  if ((text == nullptr) == (ids == nullptr)) {
    throw ApiError(400, "exactly one of text and input_ids must be given");
  }
  if (text != nullptr) return ReadTexts(model, *text);
  if (!ids->is_array() || ids->empty()) throw ApiError(400, "input_ids is not a list with IDs");
  const int vocab_size = model.config().vocab_size;
  Prompts prompts{.is_batch = ids->front().is_array(), .ids = {}};
  if (prompts.is_batch) RequireCount(*ids);
  if (!prompts.is_batch) prompts.ids.push_back(ReadTokenIds(*ids, "input_ids", vocab_size));
  for (size_t i = 0; prompts.is_batch && i < ids->size(); ++i) {
    const std::string place = "input_ids[" + std::to_string(i) + "]";
    prompts.ids.push_back(ReadTokenIds((*ids)[i], place, vocab_size));
  }
  return prompts;
}

/// The object with item `i`'s value of each field that a batch may give as a list.
json ItemFields(const JsonFields& fields, size_t i, size_t num_items) {
  json item = json::object();
  for (const char* field :
       {"sampling_params", "return_logprob", "logprob_start_len", "top_logprobs_num"}) {
    const json* value = fields.Find(field);
    if (value == nullptr) continue;
    if (value->is_array() && value->size() != num_items) {
      throw ApiError(400, std::string(field) + " has " + std::to_string(value->size()) +
                              " entries for " + std::to_string(num_items) + " prompts");
    }
    item[field] = value->is_array() ? (*value)[i] : *value;
  }
  return item;
}

/// Sampling and limits; what SGLang knows and this engine lacks is refused.
void ReadSamplingParams(const ServedModel& model, const JsonFields& params, GenerateItem* item) {
  params.RequireKnown({"max_new_tokens",
                       "temperature",
                       "top_p",
                       "top_k",
                       "min_p",
                       "frequency_penalty",
                       "presence_penalty",
                       "repetition_penalty",
                       "min_new_tokens",
                       "n",
                       "stop",
                       "stop_token_ids",
                       "stop_regex",
                       "json_schema",
                       "regex",
                       "ebnf",
                       "structural_tag",
                       "ignore_eos",
                       "skip_special_tokens",
                       "spaces_between_special_tokens",
                       "no_stop_trim",
                       "custom_params",
                       "stream_interval",
                       "logit_bias",
                       "sampling_seed"});
  Request& request = item->engine.request;
  request.sampling = ReadSampling(params, kGreedyBelow);
  params.RequireNeutral("min_new_tokens", 0);
  for (const char* field :
       {"stop_regex", "json_schema", "regex", "ebnf", "structural_tag", "custom_params"}) {
    params.RequireEmpty(field);
  }
  request.max_new_tokens =
      static_cast<int>(params.Whole("max_new_tokens", kDefaultNewTokens, 1, kMostNewTokens));
  request.ignore_eos = params.Bool("ignore_eos", false);
  item->skip_special_tokens = params.Bool("skip_special_tokens", true);
  const auto seed = params.MaybeWhole("sampling_seed", 0, kMostSeed);
  request.sampling.seed = seed ? static_cast<uint64_t>(*seed) : model.DefaultSeed();
}

void ReadLogprobFields(const JsonFields& fields, GenerateItem* item) {
  item->return_logprob = fields.Bool("return_logprob", false);
  const auto start = fields.Whole("logprob_start_len", -1, -1, std::numeric_limits<int>::max());
  const auto num_top = fields.Whole("top_logprobs_num", 0, 0, kMostTopLogprobs);
  if (!item->return_logprob) return;
  EngineRequest& engine = item->engine;
  const auto prompt_len = static_cast<int64_t>(engine.request.prompt_ids.size());
  if (start > prompt_len) {
    throw ApiError(400, "logprob_start_len is " + std::to_string(start) +
                            ", beyond the prompt of " + std::to_string(prompt_len) + " tokens");
  }
  item->logprob_start_len = static_cast<int>(start);
  item->top_logprobs_num = static_cast<int>(num_top);
  engine.request.top_logprobs = static_cast<int>(num_top);
  if (start < 0) return;
  engine.request.cache = CacheWish::kBypass;
  engine.score_prompt = true;
  engine.prompt_top = static_cast<int>(num_top);
}

std::string RidOf(const JsonFields& fields, const Prompts& prompts, size_t i) {
  const json* rid = fields.Find("rid");
  if (rid == nullptr) return NewRid();
  if (rid->is_array()) {
    if (rid->size() != prompts.ids.size() || !(*rid)[i].is_string()) {
      throw ApiError(400, "rid is not one text for each prompt");
    }
    return (*rid)[i].get<std::string>();
  }
  const std::string name = fields.Text("rid", "");
  return prompts.is_batch ? name + "_" + std::to_string(i) : name;
}

}  // namespace

std::vector<EngineRequest> GenerateRequest::EngineRequests() const {
  std::vector<EngineRequest> requests;
  for (const GenerateItem& item : items) requests.push_back(item.engine);
  return requests;
}

GenerateRequest ReadGenerateRequest(const ServedModel& model, std::string_view body) {
  const JsonBody parsed(body);
  const JsonFields fields = parsed.fields();
  for (const char* field :
       {"input_embeds", "image_data", "audio_data", "video_data", "lora_path", "token_ids_logprob",
        "custom_logit_processor", "session_params", "return_hidden_states"}) {
    fields.RequireEmpty(field);
  }
  Prompts prompts = ReadPrompts(model, fields);
  GenerateRequest request{
      .is_batch = prompts.is_batch, .stream = fields.Bool("stream", false), .items = {}};
  // Both keep a request's part of the prefix cache apart.
  const std::string salt = fields.Text("cache_salt", "") + fields.Text("extra_key", "");
  for (size_t i = 0; i < prompts.ids.size(); ++i) {
    GenerateItem item;
    item.rid = RidOf(fields, prompts, i);
    item.engine.request.prompt_ids = std::move(prompts.ids[i]);
    item.engine.request.cache_salt = salt;
    const json values = ItemFields(fields, i, prompts.ids.size());
    const JsonFields own(values, "");
    const json none = json::object();
    ReadSamplingParams(model, own.Object("sampling_params").value_or(JsonFields(none, "")), &item);
    ReadLogprobFields(own, &item);
    item.return_prompt_token_ids = fields.Bool("return_prompt_token_ids", false);
    item.return_text_in_logprobs = fields.Bool("return_text_in_logprobs", false);
    model.RequirePossible(item.engine.request, "prompt " + std::to_string(i));
    request.items.push_back(std::move(item));
  }
  return request;
}

}  // namespace detcheck
