#pragma once

#include <memory>

#include "engine/remote/adapter.h"

namespace detcheck {

/// Any server of OpenAI's /v1/completions, by what OpenAI documents of it and nothing else: fields
/// that are not known may be refused. Prompts go in as token IDs where the pre-flight shows that
/// they are taken, else as text. Token IDs never come out. Its cache is neither emptied nor
/// bypassed, and it has no counters: the client's clock is the witness.
std::unique_ptr<Adapter> MakeOpenaiAdapter(const RemoteOptions& options);

/// Whether /v1/models lists a model: to be asked last.
bool IsOpenai(ServerCalls* server);

}  // namespace detcheck
