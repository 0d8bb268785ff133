#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/server/engine_loop.h"
#include "engine/server/http_types.h"
#include "engine/server/request_group.h"

namespace detcheck {

/// The data of an event that tells of prompt `i`; empty: none is sent.
using EventText = std::function<std::string(int i, const PromptAnswer& answer)>;

/// Submits requests and answers with server-sent events: one whenever a prompt has more tokens or
/// has ended, then what `last` gives (where it is there), then "data: [DONE]". Requests are
/// cancelled when the client goes. `loop` and `peer` must outlive the reply's stream.
HttpReply StreamGroup(EngineLoop* loop, std::vector<EngineRequest> requests, const HttpPeer& peer,
                      EventText event, std::function<std::string()> last = nullptr);

}  // namespace detcheck
