#pragma once

#include "cli/option_adder.h"
#include "engine/factory.h"

namespace detcheck {

/// --endpoint, and what goes with it.
void AddRemoteOptions(OptionAdder* add, RemoteOptions* remote);

/// Throws Error(kUsage) where options of a server and of the embedded engine are mixed, or one of a
/// server is given without --endpoint.
void CheckRemoteOptions(const TargetOptions& target);

}  // namespace detcheck
