#pragma once

#include <vector>

#include "engine/base/request.h"
#include "engine/base/support.h"
#include "engine/embedded/options.h"

namespace detcheck {

/// What the embedded engine can do with these options, but for text: that the model's files tell.
Capabilities EmbeddedCapabilities(const EngineOptions& options);

/// The embedded engine's own tables, one for each device: a row for each of the device's attention
/// backends, a statement for each feature that the engine has and a test shows. The engine's rows
/// are in one table in the .cc file; a new device or attention backend adds its own there.
std::vector<SupportTable> EmbeddedSupportTables();

}  // namespace detcheck
