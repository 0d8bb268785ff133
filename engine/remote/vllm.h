#pragma once

#include <memory>

#include "engine/remote/adapter.h"

namespace detcheck {

/// vLLM's /v1/completions with token IDs in and out. Cold runs by a cache salt for each request;
/// witnesses from /metrics.
std::unique_ptr<Adapter> MakeVllmAdapter(const RemoteOptions& options);

/// Whether the server tells what vLLM's servers tell.
bool IsVllm(ServerCalls* server);

}  // namespace detcheck
