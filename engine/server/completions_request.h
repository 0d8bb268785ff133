#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/server/json_fields.h"
#include "engine/server/request_group.h"
#include "engine/server/served_model.h"

namespace detcheck {

/// What POST /v1/completions was asked, as vLLM has it.
struct CompletionsRequest {
  std::vector<EngineRequest> prompts;
  bool stream = false;
  bool include_usage = false;   ///< stream_options: a last event with the usage.
  std::optional<int> logprobs;  ///< Candidates with each token.
  std::optional<int> prompt_logprobs;
  bool return_token_ids = false;
  bool return_tokens_as_token_ids = false;  ///< Tokens of logprobs as "token_id:7".
  bool skip_special_tokens = true;
};

/// Reads a body. A prompt whose logprobs are wanted is not taken out of the prefix cache. Throws
/// ApiError: 404 for another model, 400 for what is wrong.
CompletionsRequest ReadCompletionsRequest(const ServedModel& model, std::string_view body);

/// Throws ApiError(404) for a body whose model is given and is not the one that is served.
void RequireModel(const ServedModel& model, const JsonFields& fields);

}  // namespace detcheck
