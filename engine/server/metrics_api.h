#pragma once

#include "engine/server/http_types.h"
#include "engine/server/served_model.h"

namespace detcheck {

/// GET /metrics: Prometheus text, by SGLang's and vLLM's names.
HttpReply Metrics(const ServedModel& model);

}  // namespace detcheck
