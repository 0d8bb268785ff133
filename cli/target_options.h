#pragma once

#include "cli/option_adder.h"
#include "engine/factory.h"

namespace detcheck {

/// Options of the embedded engine.
void AddEmbeddedTarget(OptionAdder* add, TargetOptions* target);

/// Likewise, and those of a server that is tested instead.
void AddTargetOptions(OptionAdder* add, TargetOptions* target);

}  // namespace detcheck
