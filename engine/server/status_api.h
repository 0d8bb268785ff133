#pragma once

#include "engine/server/http_types.h"
#include "engine/server/served_model.h"

namespace detcheck {

// What the server says of itself. SGLang's names for what SGLang has.

/// GET /server_info: the options, and the manifest of what is served.
HttpReply ServerInfo(const ServedModel& model);
HttpReply ModelInfo(const ServedModel& model);  ///< GET /model_info.
HttpReply Loads(const ServedModel& model);      ///< GET /v1/loads.
/// GET /health: 200 while the engine can run, else 503.
HttpReply Health(const ServedModel& model);
HttpReply Version(const ServedModel& model);  ///< GET /version, vLLM's.
/// GET or POST /flush_cache?timeout=SECONDS: 200, or 400 where requests still run after the timeout
/// (0 where none is given). A client that goes while it waits flushes nothing. Throws ApiError.
HttpReply FlushCache(const ServedModel& model, const ServedRequest& http, const HttpPeer& peer);

}  // namespace detcheck
