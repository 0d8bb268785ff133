#pragma once

#include <memory>

#include "engine/remote/adapter.h"

namespace detcheck {

/// The server of llama.cpp, by its own /completion: its /v1/completions gives text alone.
std::unique_ptr<Adapter> MakeLlamacppAdapter(const RemoteOptions& options);

/// Whether the server's /props tells what llama.cpp's server tells.
bool IsLlamacpp(ServerCalls* server);

}  // namespace detcheck
