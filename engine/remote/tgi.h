#pragma once

#include <memory>

#include "engine/remote/adapter.h"

namespace detcheck {

/// Text Generation Inference, by /generate_stream. Prompts are strings, to which it always adds
/// its special tokens: what it makes of a text is asked of /tokenize. Token IDs and logprobs come
/// out. Greedy is the absence of every parameter of sampling. Its cache is neither emptied nor
/// bypassed, nor told of.
std::unique_ptr<Adapter> MakeTgiAdapter(const RemoteOptions& options);

/// Whether /info is that of TGI's router.
bool IsTgi(ServerCalls* server);

}  // namespace detcheck
