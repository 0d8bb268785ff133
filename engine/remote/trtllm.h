#pragma once

#include <memory>

#include "engine/remote/adapter.h"

namespace detcheck {

/// TensorRT-LLM's trtllm-serve, by /v1/completions without detokenization: token IDs come in no
/// other way. It refuses fields that it does not know. It has neither flush nor bypass of its KV
/// reuse. Its /metrics hands each iteration to whoever asks first, so that looking would take it
/// from others: the client's clock is the witness.
std::unique_ptr<Adapter> MakeTrtllmAdapter(const RemoteOptions& options);

/// Whether /v1/models names TensorRT-LLM as its owner.
bool IsTrtllm(ServerCalls* server);

}  // namespace detcheck
