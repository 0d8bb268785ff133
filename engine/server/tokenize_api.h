#pragma once

#include "engine/server/http_types.h"
#include "engine/server/served_model.h"

namespace detcheck {

// The model's tokenizer, as vLLM and SGLang have it. Both throw ApiError: 501 where the model has
// none.

/// POST /tokenize: {prompt, add_special_tokens} to {count, max_model_len, tokens}.
HttpReply Tokenize(const ServedModel& model, const ServedRequest& http);

/// POST /detokenize: {tokens, skip_special_tokens} to {prompt, text}, which are the same: vLLM and
/// SGLang call it differently. Special tokens are kept unless told otherwise.
HttpReply Detokenize(const ServedModel& model, const ServedRequest& http);

}  // namespace detcheck
