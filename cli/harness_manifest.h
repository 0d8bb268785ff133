#pragma once

#include <string>

#include "engine/backend.h"

namespace detcheck {

/// What this process is and runs on, and the environment's variables that are allowed. Never a
/// user's or a host's name. To be called once the target has started, which loads libraries.
/// `arguments`: the command line with paths as base names.
Manifest HarnessManifest(const std::string& arguments);

}  // namespace detcheck
