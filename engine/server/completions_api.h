#pragma once

#include "engine/server/http_types.h"
#include "engine/server/served_model.h"

namespace detcheck {

/// POST /v1/completions as vLLM has it: one answer with a choice for each prompt, or a stream whose
/// events tell what is new. Throws ApiError.
HttpReply Completions(const ServedModel& model, const ServedRequest& http, const HttpPeer& peer);

/// GET /v1/models.
HttpReply Models(const ServedModel& model);

}  // namespace detcheck
