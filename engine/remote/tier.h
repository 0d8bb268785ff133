#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/base/request.h"
#include "engine/remote/adapter.h"
#include "engine/remote/preflight.h"

namespace detcheck {

// What a server can do, put together from what it claims, what is declared of it, and what was
// seen.

/// Takes away the capabilities that the pre-flight did not see.
void ApplyFindings(const PreflightFindings& seen, Capabilities* can);

/// Adds what whoever runs detcheck declares of the server, to the manifest as declared, and to the
/// facts where it is a size. Throws Error(kUsage) for a field that the server tells itself, and for
/// a size that is no whole number above 0.
void ApplyDeclared(const std::vector<std::pair<std::string, std::string>>& declared,
                   ServerClaims* claims);

/// "tier A: token IDs in, token IDs out, …; not: …". A: IDs and logprobs, cold runs, and witnesses
/// of its own; B: IDs out; C: text only.
std::string TierInWords(const Capabilities& can);

}  // namespace detcheck
