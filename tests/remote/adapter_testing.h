#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/remote/adapter.h"

namespace detcheck {

/// A request for two tokens with two candidates each.
inline Request TwoTokens(std::optional<int> top_logprobs = 2) {
  Request request;
  request.prompt_ids = {11, 12, 13};
  request.max_new_tokens = 2;
  request.top_logprobs = top_logprobs;
  return request;
}

/// What the adapter makes of the events, given as JSON.
inline Answer ReadAll(const Adapter& adapter, const std::vector<std::string>& events,
                      const Request& request = TwoTokens()) {
  Answer answer;
  for (const std::string& event : events) {
    adapter.ReadEvent(ParseJson(event).root, request, &answer);
  }
  return answer;
}

/// The body that the adapter sends for the request.
inline JsonNode BodyOf(const Adapter& adapter, const Request& request) {
  return ParseJson(adapter.Ask(request, "salt-1").body).root;
}

}  // namespace detcheck
