#include "engine/server/completions_request.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/server/http_types.h"
#include "engine/server/sampling_fields.h"

namespace detcheck {
namespace {

using nlohmann::json;

/// Below this vLLM decodes greedily.
constexpr double kGreedyBelow = 1e-5;
constexpr int kDefaultMaxTokens = 16;

std::vector<TokenId> ReadPrompt(const ServedModel& model, const json& prompt,
                                const std::string& place, bool add_special) {
  if (prompt.is_string()) return model.Encode(prompt.get<std::string>(), place, add_special);
  return ReadTokenIds(prompt, place, model.config().vocab_size);
}

/// A text, IDs, or a list of either.
std::vector<std::vector<TokenId>> ReadPrompts(const ServedModel& model, const JsonFields& fields) {
  const json* prompt = fields.Find("prompt");
  if (prompt == nullptr) throw ApiError(400, "prompt is missing");
  const bool add_special = fields.Bool("add_special_tokens", true);
  const bool is_list = prompt->is_array() && !prompt->empty() && !prompt->front().is_number();
  if (!is_list) return {ReadPrompt(model, *prompt, "prompt", add_special)};
  if (prompt->size() > kMostPrompts) {
    throw ApiError(400, "more than " + std::to_string(kMostPrompts) + " prompts");
  }
  std::vector<std::vector<TokenId>> prompts;
  for (size_t i = 0; i < prompt->size(); ++i) {
    const std::string place = "prompt[" + std::to_string(i) + "]";
    prompts.push_back(ReadPrompt(model, (*prompt)[i], place, add_special));
  }
  return prompts;
}

void RefuseWhatIsLacking(const JsonFields& fields) {
  if (fields.Bool("echo", false)) {
    throw ApiError(400, "echo: prompts are not repeated; prompt_logprobs tells their logprobs");
  }
  fields.RequireNeutral("best_of", 1);
  fields.RequireNeutral("min_tokens", 0);
  for (const char* field : {"suffix", "response_format", "structured_outputs", "guided_json",
                            "guided_regex", "use_beam_search", "bad_words"}) {
    fields.RequireEmpty(field);
  }
}

Request ReadLimits(const ServedModel& model, const JsonFields& fields) {
  Request request;
  request.sampling = ReadSampling(fields, kGreedyBelow);
  const auto seed = fields.MaybeWhole("seed", -1, kMostSeed);
  request.sampling.seed = seed && *seed >= 0 ? static_cast<uint64_t>(*seed) : model.DefaultSeed();
  request.max_new_tokens =
      static_cast<int>(fields.Whole("max_tokens", kDefaultMaxTokens, 1, kMostNewTokens));
  request.ignore_eos = fields.Bool("ignore_eos", false);
  request.cache_salt = fields.Text("cache_salt", "");
  return request;
}

std::optional<int> MaybeInt(const JsonFields& fields, const char* field) {
  const auto value = fields.MaybeWhole(field, 0, kMostTopLogprobs);
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

}  // namespace

void RequireModel(const ServedModel& model, const JsonFields& fields) {
  const std::string name = fields.Text("model", model.name);
  if (name != model.name) {
    throw ApiError(404, "the model `" + name + "` does not exist; `" + model.name + "` is served");
  }
}

CompletionsRequest ReadCompletionsRequest(const ServedModel& model, std::string_view body) {
  const JsonBody parsed(body);
  const JsonFields fields = parsed.fields();
  RequireModel(model, fields);
  RefuseWhatIsLacking(fields);
  CompletionsRequest request;
  request.stream = fields.Bool("stream", false);
  if (const auto options = fields.Object("stream_options")) {
    request.include_usage = options->Bool("include_usage", false);
  }
  request.logprobs = MaybeInt(fields, "logprobs");
  request.prompt_logprobs = MaybeInt(fields, "prompt_logprobs");
  if (request.stream && request.prompt_logprobs) {
    throw ApiError(400, "prompt_logprobs: not in a stream");
  }
  request.return_token_ids = fields.Bool("return_token_ids", false);
  request.return_tokens_as_token_ids = fields.Bool("return_tokens_as_token_ids", false);
  request.skip_special_tokens = fields.Bool("skip_special_tokens", true);

  EngineRequest engine;
  engine.request = ReadLimits(model, fields);
  engine.request.top_logprobs = request.logprobs;
  engine.score_prompt = request.prompt_logprobs.has_value();
  engine.prompt_top = request.prompt_logprobs.value_or(0);
  if (engine.score_prompt) engine.request.cache = CacheWish::kBypass;
  for (std::vector<TokenId>& ids : ReadPrompts(model, fields)) {
    engine.request.prompt_ids = std::move(ids);
    model.RequirePossible(engine.request, "prompt " + std::to_string(request.prompts.size()));
    request.prompts.push_back(engine);
  }
  return request;
}

}  // namespace detcheck
