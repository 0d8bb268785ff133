#pragma once

#include <string>

#include "engine/remote/adapter.h"

namespace detcheck {

// What an SGLang server says of itself.

struct SglangSurvey {
  ServerClaims claims;
  std::string load_path;  ///< Where its load is read; empty: it does not tell.
};

/// The reply of /server_info, or of /get_server_info as older releases have it.
Reply GetSglangInfo(ServerCalls* server);
/// Whether it is an SGLang server's: others have a /server_info, too.
bool IsSglangInfo(const Reply& info);

/// Throws Error(kTarget) where the server tells none of what SGLang's servers tell.
SglangSurvey SurveySglang(ServerCalls* server);

/// Of /v1/loads, or of /get_load as older releases have it.
LoadSample ReadSglangLoad(const std::string& body);

}  // namespace detcheck
