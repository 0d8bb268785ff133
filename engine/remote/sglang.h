#pragma once

#include <memory>
#include <string>

#include "engine/remote/adapter.h"

namespace detcheck {

/// SGLang's native /generate: token IDs in and out, logprobs of both, flush, load of the scheduler.
/// Knows the end points by their old and new names, and streams that are cumulative or not.
std::unique_ptr<Adapter> MakeSglangAdapter(const RemoteOptions& options);

/// Whether the server tells what only SGLang's servers tell.
bool IsSglang(ServerCalls* server);

}  // namespace detcheck
