#include "engine/remote/completions.h"

#include <utility>

#include "engine/base/error.h"
#include "engine/remote/answer_parts.h"
#include "engine/remote/claims.h"
#include "engine/remote/server_error.h"

namespace detcheck {
namespace {

std::string TextOf(const JsonNode* node) {
  return node == nullptr ? "" : std::string(node->String().value_or(""));
}

}  // namespace

std::optional<ListedModel> FindModel(ServerCalls* server, const std::string& served_model) {
  const Reply reply = server->Get("/v1/models");
  const JsonNode* data = reply.root.Find("data");
  if (!reply.Ok() || data == nullptr || data->items().empty()) return std::nullopt;
  std::string listed;
  for (const JsonNode& item : data->items()) {
    ListedModel model{TextOf(item.Find("id")), TextOf(item.Find("root")),
                      TextOf(item.Find("owned_by")), ClaimedInt(item.Find("max_model_len"))};
    if (served_model.empty() || model.id == served_model) return model;
    listed += (listed.empty() ? "" : ", ") + Shown(model.id, "");
  }
  throw Error(ErrorCode::kUsage,
              "--served-model " + Shown(served_model, "") + ": the server lists " + listed);
}

ListedModel RequireModel(ServerCalls* server, const std::string& served_model,
                         std::string_view what) {
  auto model = FindModel(server, served_model);
  if (!model) {
    throw Error(ErrorCode::kTarget, server->endpoint().label + ": not " + std::string(what) +
                                        ": /v1/models lists no model");
  }
  return *std::move(model);
}

LoadSample ReadQueues(const Metrics& metrics, const std::string& prefix) {
  LoadSample sample;
  const auto running = metrics.Sum(prefix + "num_requests_running");
  if (!running) return sample;
  sample.running = static_cast<int>(*metrics.Max(prefix + "num_requests_running"));
  sample.total =
      static_cast<int>(*running + metrics.Sum(prefix + "num_requests_waiting").value_or(0.0));
  return sample;
}

void ReadUsage(const JsonNode& event, Answer* answer) {
  const JsonNode* usage = event.Find("usage");
  if (usage == nullptr) return;
  if (const auto prompt = ClaimedInt(usage->Find("prompt_tokens"), 0)) {
    answer->prompt_tokens = prompt;
  }
  if (const auto cached =
          ClaimedInt(usage->FindPath({"prompt_tokens_details", "cached_tokens"}), 0)) {
    answer->cached_tokens = cached;
  }
  if (const auto counted = ClaimedInt(usage->Find("completion_tokens"), 0)) {
    answer->counted_tokens = counted;
  }
}

void ReadCompletionFinish(const JsonNode& choice, Answer* answer) {
  const JsonNode* reason = choice.Find("finish_reason");
  if (reason == nullptr || reason->IsNull()) return;
  const std::string_view word = reason->String().value_or("");
  if (word == "length") {
    answer->finish = FinishReason::kLength;
  } else if (word == "stop") {
    answer->finish = FinishReason::kStop;
  } else {
    Fail(answer, "the server ended it (" + std::string(word) + ")");
  }
}

const JsonNode* OnlyChoice(const JsonNode& event, Answer* answer) {
  const JsonNode* choices = event.Find("choices");
  if (choices == nullptr || choices->items().empty()) return nullptr;
  for (const JsonNode& choice : choices->items()) {
    const JsonNode* index = choice.Find("index");
    if (index == nullptr || index->Int64().value_or(0) == 0) continue;
    Fail(answer, "a choice of another prompt (index " + index->raw() + ")");
    return nullptr;
  }
  if (choices->items().size() == 1) return &choices->items().front();
  Fail(answer, "more choices than prompts");
  return nullptr;
}

}  // namespace detcheck
