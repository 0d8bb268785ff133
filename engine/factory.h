#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "engine/embedded/options.h"
#include "engine/remote/options.h"

namespace detcheck {

/// What is to be tested, as the command line has it.
struct TargetOptions {
  std::string engine = "auto";  ///< "auto", "cpu" or "cuda".
  EngineOptions embedded;
  RemoteOptions remote;               ///< Where it has an endpoint, that server is tested.
  std::vector<std::string> replicas;  ///< Further endpoints, whose servers are to answer alike.
};

/// Starts the target: the one place that knows the implementations of Backend. `choice`, where not
/// null, receives one line that says which engine "auto" took and why (CUDA where it starts, else
/// the CPU), or what a server was seen to do; it is left empty where the engine was asked for by
/// name. Throws Error(kUsage) for an unknown engine name, Error(kDevice) for one that cannot start
/// here, and what the target throws at its start.
std::unique_ptr<Backend> MakeBackend(const TargetOptions& options, std::string* choice = nullptr);

}  // namespace detcheck
