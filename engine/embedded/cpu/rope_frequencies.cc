#include "engine/embedded/cpu/rope_frequencies.h"

#include "engine/embedded/cpu/det_math.h"

namespace detcheck::cpu {

std::vector<double> RopeFrequencies(const ModelConfig& config) {
  if (!config.rope_scaling) return RopeInvFreq(config.rope_theta, config.head_dim, nullptr);
  const detcheck::Llama3RopeScaling& scaling = *config.rope_scaling;
  const cpu::Llama3RopeScaling same = {.factor = scaling.factor,
                                       .low_freq_factor = scaling.low_freq_factor,
                                       .high_freq_factor = scaling.high_freq_factor,
                                       .original_max_position_embeddings = static_cast<double>(
                                           scaling.original_max_position_embeddings)};
  return RopeInvFreq(config.rope_theta, config.head_dim, &same);
}

}  // namespace detcheck::cpu
