#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/request.h"
#include "engine/embedded/options.h"
#include "engine/embedded/rope_scaling.h"

namespace detcheck {

enum class Architecture { kLlama, kQwen3 };

/// Shape of a decoder. Letters used for shapes everywhere: T tokens of a step, D hidden_size,
/// H num_heads, G num_kv_heads, E head_dim, F intermediate_size, V vocab_size, L num_layers.
struct ModelConfig {
  std::string name;  ///< "synthetic:tiny", or the directory's name (ModelNameOf).
  Architecture architecture = Architecture::kLlama;
  int num_layers = 0;
  int hidden_size = 0;
  int num_heads = 0;
  int num_kv_heads = 0;  ///< Divides num_heads.
  int head_dim = 0;      ///< Even.
  int intermediate_size = 0;
  int vocab_size = 0;
  int context_len = 0;  ///< max_position_embeddings.
  float rms_norm_eps = 1e-6f;
  double rope_theta = 10000.0;
  std::optional<Llama3RopeScaling> rope_scaling;
  bool qk_norm = false;  ///< Qwen3: RMSNorm of each query and key head before RoPE.
  bool tie_word_embeddings = false;
  DType dtype = DType::kBf16;
  std::vector<TokenId> eos_ids;

  int q_width() const { return num_heads * head_dim; }
  int kv_width() const { return num_kv_heads * head_dim; }
  int qkv_width() const { return q_width() + 2 * kv_width(); }
};

}  // namespace detcheck
