#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/remote/adapter.h"
#include "engine/remote/prometheus.h"

namespace detcheck {

// What servers share that speak OpenAI's /v1/completions.

/// A model as /v1/models lists it.
struct ListedModel {
  std::string id;
  std::string root;      ///< What it was loaded from; empty where that is not told.
  std::string owned_by;  ///< "vllm", …
  std::optional<int> max_model_len;
};

/// The model of that name; without a name the first one. Absent where /v1/models tells none. Throws
/// Error(kUsage) where it lists others only.
std::optional<ListedModel> FindModel(ServerCalls* server, const std::string& served_model);

/// FindModel's; throws Error(kTarget) where there is none: the server is not `what` ("a vLLM
/// server").
ListedModel RequireModel(ServerCalls* server, const std::string& served_model,
                         std::string_view what);

/// Requests as the metrics PREFIXnum_requests_running and _waiting tell them, over all schedulers;
/// empty where they do not.
LoadSample ReadQueues(const Metrics& metrics, const std::string& prefix);

/// Prompt, cached and answered tokens as `usage` has them; null and missing ones are passed over.
void ReadUsage(const JsonNode& event, Answer* answer);

/// A finish reason in OpenAI's words; any but "length" and "stop" makes the answer useless.
void ReadCompletionFinish(const JsonNode& choice, Answer* answer);

/// The one choice of an event; null where there is none (the last event has the usage alone), or it
/// is of another index, which makes the answer useless.
const JsonNode* OnlyChoice(const JsonNode& event, Answer* answer);

}  // namespace detcheck
