#pragma once

#include <memory>
#include <vector>

#include "engine/embedded/model_config.h"
#include "engine/embedded/ops.h"
#include "engine/embedded/weights.h"

namespace detcheck {

/// A decoder-only transformer (Llama, Qwen3): what is computed, on whatever Ops computes it.
class Model {
 public:
  /// Uploads all weights of `source` into `ops`, one after another, and makes activations for
  /// steps of at most `max_rows` tokens. `ops` must outlive the model; `source` may go afterwards.
  /// Errors: those of WeightSource::Read and of Ops.
  Model(const ModelConfig& config, WeightSource* source, Ops* ops, int max_rows);

  /// Runs one engine step: writes the KV of every row, and leaves the logits of batch.logit_rows in
  /// the Ops (none: the head is skipped). `batch` must live until those logits are no longer used.
  void Forward(const StepBatch& batch);

  const ModelConfig& config() const { return config_; }

 private:
  struct Layer {
    std::unique_ptr<Weight> input_norm;
    std::unique_ptr<Weight> qkv;
    std::unique_ptr<Weight> q_norm;  ///< Null without qk_norm, as is k_norm.
    std::unique_ptr<Weight> k_norm;
    std::unique_ptr<Weight> output;
    std::unique_ptr<Weight> post_attention_norm;
    std::unique_ptr<Weight> gate_up;
    std::unique_ptr<Weight> down;
  };

  Layer UploadLayer(const WeightReader& reader, int layer);
  /// Reads residual_ and delta_, and leaves the layer's last addend in delta_.
  void RunLayer(int layer_idx, const Activations* delta);

  ModelConfig config_;
  Ops* ops_;
  std::unique_ptr<Weight> embed_tokens_;
  std::vector<Layer> layers_;
  std::unique_ptr<Weight> final_norm_;
  std::unique_ptr<Weight> lm_head_;  ///< Null where the embedding table is the head.

  std::unique_ptr<Activations> residual_;       ///< [T, D]
  std::unique_ptr<Activations> normed_;         ///< [T, D]
  std::unique_ptr<Activations> qkv_;            ///< [T, (H + 2G)·E]
  std::unique_ptr<Activations> attention_;      ///< [T, H·E]
  std::unique_ptr<Activations> gated_;          ///< [T, F]
  std::unique_ptr<Activations> delta_;          ///< [T, D] not yet added to the residual.
  std::unique_ptr<Activations> head_residual_;  ///< [R, D]
  std::unique_ptr<Activations> head_normed_;    ///< [R, D]
};

}  // namespace detcheck
