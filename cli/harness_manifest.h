#pragma once

#include <string>

#include "engine/backend.h"

namespace detcheck {

/// What this process is and runs on. Never a user's or a host's name.
/// `arguments`: the command line with paths as base names.
Manifest HarnessManifest(const std::string& arguments);

}  // namespace detcheck
