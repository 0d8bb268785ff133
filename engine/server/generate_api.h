#pragma once

#include "engine/server/http_types.h"
#include "engine/server/served_model.h"

namespace detcheck {

/// SGLang's POST /generate: one answer, a list of them, or a stream of events that each tell the
/// whole answer so far, ended by "data: [DONE]". Throws ApiError.
HttpReply Generate(const ServedModel& model, const ServedRequest& http, const HttpPeer& peer);

/// SGLang's GET /health_generate: 200 once a token has been generated.
HttpReply HealthGenerate(const ServedModel& model, const HttpPeer& peer);

}  // namespace detcheck
