#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/base/request.h"
#include "engine/embedded/model_config.h"
#include "engine/embedded/weights.h"

namespace detcheck {

/// Weights made up for a test: named tensors of float32 values.
class MapWeights : public WeightSource {
 public:
  /// Draws every tensor that `config` needs.
  MapWeights(const ModelConfig& config, uint64_t seed);

  void Read(const std::string& name, const std::vector<int64_t>& shape, DType dtype,
            void* out) override;
  Manifest Describe() override { return {}; }

  const std::vector<float>& at(const std::string& name) const { return tensors_.at(name); }

 private:
  std::map<std::string, std::vector<float>> tensors_;
};

/// log-softmax of the logits after each of `ids`, in float64 without rounding or KV cache: a plain
/// transcription of transformers' modeling_llama.py, modeling_qwen3.py and modeling_rope_utils.py.
std::vector<std::vector<double>> ReferenceLogprobs(const ModelConfig& config,
                                                   const MapWeights& weights,
                                                   const std::vector<TokenId>& ids);

}  // namespace detcheck
