#pragma once

#include "engine/server/http_types.h"
#include "engine/server/served_model.h"

namespace detcheck {

/// Answers a request to any end point; errors are answers, too: {"error": {"message", "type",
/// "code"}}. A stream in the reply must end while `peer` lives.
HttpReply AnswerRequest(const ServedModel& model, const ServedRequest& http, const HttpPeer& peer);

/// The error as an answer.
HttpReply ErrorReply(int status, const std::string& message);

}  // namespace detcheck
