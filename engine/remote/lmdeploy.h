#pragma once

#include <memory>

#include "engine/remote/adapter.h"

namespace detcheck {

/// LMDeploy's /generate, the one end point that takes token IDs: a list of numbers is a list of
/// prompts to its /v1/completions. It takes no seed, so that only greedy requests are sent.
std::unique_ptr<Adapter> MakeLmdeployAdapter(const RemoteOptions& options);

/// Whether /v1/models names LMDeploy as its owner.
bool IsLmdeploy(ServerCalls* server);

}  // namespace detcheck
