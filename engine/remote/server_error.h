#pragma once

#include <string>
#include <string_view>

#include "engine/remote/http.h"
#include "engine/remote/json_node.h"

namespace detcheck {

/// What a server says in the JSON of an error, in any of the shapes that servers use:
/// error.message, error as text, message, detail (FastAPI's list, too). Empty where the value is no
/// error: it has neither "error" nor "object": "error".
std::string ErrorIn(const JsonNode& root);

/// One line for a message or a report: paths, private names, `secret` (not shown where it is not
/// empty) and control characters replaced, at most 300 bytes.
std::string Shown(std::string_view text, std::string_view secret);

/// Why a request came to nothing, in one line: the client's word, and what the server's body says.
std::string WhyFailed(const HttpResult& result, std::string_view secret);

}  // namespace detcheck
