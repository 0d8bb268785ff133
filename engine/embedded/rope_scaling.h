#pragma once

namespace detcheck {

/// RoPE frequency scaling of Llama 3.1 (config.json "rope_scaling" with rope_type "llama3").
struct Llama3RopeScaling {
  double factor = 8.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  int original_max_position_embeddings = 8192;
};

}  // namespace detcheck
