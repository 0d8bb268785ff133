#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/embedded/model_config.h"
#include "engine/embedded/weights.h"

namespace detcheck {

/// How large the parts of a synthetic model are, as standard deviations at its random
/// initialisation. They are chosen so that greedy decoding behaves as a trained model's does: no
/// short loops, every token depending on the whole context, and many near ties.
struct SyntheticRecipe {
  double embedding_std = 1.0;  ///< Of the residual stream before the first layer.
  double score_std = 1.0;      ///< Of attention scores: 0 would be uniform attention.
  double branch_std = 0.5;     ///< Of what each attention or MLP block adds to the residual.
  double logit_std = 3.5;
};

struct SyntheticModel {
  ModelConfig config;
  SyntheticRecipe recipe;
};

/// Names after "synthetic:", in the order in which they are shown to a person.
std::vector<std::string> SyntheticModelNames();

/// Throws Error(kUsage), naming the models that exist, for an unknown `name` (without
/// "synthetic:").
SyntheticModel FindSyntheticModel(const std::string& name);

/// Weights of a synthetic model: every element a function of (seed, tensor, element index), as
/// FillSynthetic has it. The tensor's index, layers counted from 0:
///
///     0 embed_tokens, 1 norm, 2 lm_head; 16 · (layer + 1) + k with k =
///     0 input_layernorm, 1 q_proj, 2 k_proj, 3 v_proj, 4 o_proj, 5 q_norm, 6 k_norm,
///     7 post_attention_layernorm, 8 gate_proj, 9 up_proj, 10 down_proj
class SyntheticWeights : public WeightSource {
 public:
  SyntheticWeights(const SyntheticModel& model, uint64_t seed, int num_threads);

  void Read(const std::string& name, const std::vector<int64_t>& shape, DType dtype,
            void* out) override;
  std::optional<SyntheticTensor> Recipe(const std::string& name) const override;
  Manifest Describe() override;

 private:
  SyntheticModel model_;
  uint64_t seed_;
  int num_threads_;
};

}  // namespace detcheck
