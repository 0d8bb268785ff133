#pragma once

#include <string>
#include <vector>

#include "cli/option_adder.h"
#include "engine/factory.h"

namespace detcheck {

/// --endpoint, and what goes with it; `what_for` says what becomes of the server. Further endpoints
/// go to `replicas`; where that is null there is one at most.
void AddRemoteOptions(OptionAdder* add, RemoteOptions* remote, const std::string& what_for,
                      std::vector<std::string>* replicas);

/// What more there is to say of a server that answers requests: --timeout, --tokenizer.
void AddAnsweringServerOptions(OptionAdder* add, RemoteOptions* remote);

/// Throws Error(kUsage) where options of a server and of the embedded engine are mixed, or one of a
/// server is given without --endpoint.
void CheckRemoteOptions(const TargetOptions& target);

}  // namespace detcheck
