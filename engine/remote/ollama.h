#pragma once

#include <memory>

#include "engine/remote/adapter.h"

namespace detcheck {

/// Ollama, by /api/generate with raw prompts: text in, text out. Logprobs come with the tokens'
/// bytes. Each answer reads the prefix cache, and no answer tells what it read: cold is a model
/// that was unloaded. It has no counters: the client's clock is the witness.
std::unique_ptr<Adapter> MakeOllamaAdapter(const RemoteOptions& options);

/// Whether /api/version is there.
bool IsOllama(ServerCalls* server);

}  // namespace detcheck
