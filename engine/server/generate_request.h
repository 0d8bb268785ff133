#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/server/request_group.h"
#include "engine/server/served_model.h"

namespace detcheck {

/// One prompt of SGLang's POST /generate, with what its answer is to tell.
struct GenerateItem {
  std::string rid;
  EngineRequest engine;
  bool return_logprob = false;
  int logprob_start_len = -1;  ///< Prompt position from which logprobs are told; -1: none.
  int top_logprobs_num = 0;
  bool return_prompt_token_ids = false;
  bool return_text_in_logprobs = false;
  bool skip_special_tokens = true;
};

struct GenerateRequest {
  bool is_batch = false;  ///< The prompts came as a list: the answer is one.
  bool stream = false;
  std::vector<GenerateItem> items;

  std::vector<EngineRequest> EngineRequests() const;
};

/// Reads a body. A prompt whose logprobs are told from a position on (logprob_start_len >= 0) is
/// not taken out of the prefix cache. Throws ApiError(400).
GenerateRequest ReadGenerateRequest(const ServedModel& model, std::string_view body);

}  // namespace detcheck
