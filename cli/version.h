#pragma once

#include <string>

namespace detcheck {

/// "0.1.0".
std::string Version();

/// Commit of the source that was built, 40 hex digits; "unknown" outside a git checkout.
std::string GitRevision();

/// Whether tracked files differed from that commit: "true", "false" or "unknown".
std::string GitDirty();

}  // namespace detcheck
