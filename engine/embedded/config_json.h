#pragma once

#include <string>
#include <string_view>

#include "engine/embedded/model_config.h"

namespace detcheck {

/// Reads a Hugging Face config.json: LlamaForCausalLM or Qwen3ForCausalLM, as transformers 4 and 5
/// write them. What the engine does not compute (another activation, biases, sliding windows,
/// quantised weights, RoPE scaling other than Llama 3's) is refused rather than ignored; fields
/// without influence on the result are ignored. Absent fields have transformers' defaults:
/// num_key_value_heads as many as heads, head_dim 128 for Qwen3 and else hidden_size / heads,
/// rms_norm_eps 1e-6, rope_theta 10000, untied embeddings, float32. ModelConfig::name is left
/// empty. `file` is the name used in errors. Throws Error(kInput) "FILE: FIELD: FACT".
ModelConfig ParseConfigJson(std::string_view text, const std::string& file);

/// The same from a file; Error(kInput) too where it cannot be read.
ModelConfig ReadConfigJson(const std::string& file);

}  // namespace detcheck
