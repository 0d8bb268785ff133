#include "engine/embedded/model.h"

namespace detcheck {

Model::Model(const ModelConfig& config, WeightSource* source, Ops* ops, int max_rows)
    : config_(config), ops_(ops) {
  const WeightReader reader(config_, source, ops->MakesSyntheticWeights());
  embed_tokens_ = ops->NewMatrix(reader.EmbedTokens().tensor());
  layers_.reserve(config.num_layers);
  for (int layer = 0; layer < config.num_layers; ++layer) {
    layers_.push_back(UploadLayer(reader, layer));
  }
  final_norm_ = ops->NewVector(reader.FinalNorm().tensor());
  if (!config.tie_word_embeddings) lm_head_ = ops->NewMatrix(reader.LmHead().tensor());

  residual_ = ops->NewActivations(max_rows, config.hidden_size);
  normed_ = ops->NewActivations(max_rows, config.hidden_size);
  qkv_ = ops->NewActivations(max_rows, config.qkv_width());
  attention_ = ops->NewActivations(max_rows, config.q_width());
  gated_ = ops->NewActivations(max_rows, config.intermediate_size);
  delta_ = ops->NewActivations(max_rows, config.hidden_size);
  head_residual_ = ops->NewActivations(max_rows, config.hidden_size);
  head_normed_ = ops->NewActivations(max_rows, config.hidden_size);
}

Model::Layer Model::UploadLayer(const WeightReader& reader, int layer) {
  Layer uploaded;
  uploaded.input_norm = ops_->NewVector(reader.InputNorm(layer).tensor());
  uploaded.qkv = ops_->NewMatrix(reader.Qkv(layer).tensor());
  if (config_.qk_norm) {
    uploaded.q_norm = ops_->NewVector(reader.QNorm(layer).tensor());
    uploaded.k_norm = ops_->NewVector(reader.KNorm(layer).tensor());
  }
  uploaded.output = ops_->NewMatrix(reader.OutputProjection(layer).tensor());
  uploaded.post_attention_norm = ops_->NewVector(reader.PostAttentionNorm(layer).tensor());
  uploaded.gate_up = ops_->NewMatrix(reader.GateUp(layer).tensor());
  uploaded.down = ops_->NewMatrix(reader.Down(layer).tensor());
  return uploaded;
}

void Model::Forward(const StepBatch& batch) {
  ops_->BeginStep(batch);
  ops_->Embed(*embed_tokens_, residual_.get());
  for (int i = 0; i < config_.num_layers; ++i) RunLayer(i, i == 0 ? nullptr : delta_.get());
  if (batch.logit_rows.empty()) return;

  ops_->SelectLogitRows(*residual_, *delta_, head_residual_.get());
  ops_->AddRmsNorm(head_residual_.get(), nullptr, *final_norm_, head_normed_.get());
  ops_->Logits(*head_normed_, lm_head_ ? *lm_head_ : *embed_tokens_);
}

void Model::RunLayer(int layer_idx, const Activations* delta) {
  const Layer& layer = layers_[layer_idx];
  ops_->AddRmsNorm(residual_.get(), delta, *layer.input_norm, normed_.get());
  ops_->Linear(*normed_, *layer.qkv, qkv_.get());
  ops_->RopeAndWriteKv(layer_idx, layer.q_norm.get(), layer.k_norm.get(), qkv_.get());
  ops_->Attention(layer_idx, *qkv_, attention_.get());
  ops_->Linear(*attention_, *layer.output, delta_.get());

  ops_->AddRmsNorm(residual_.get(), delta_.get(), *layer.post_attention_norm, normed_.get());
  ops_->GateUp(*normed_, *layer.gate_up, gated_.get());
  ops_->Linear(*gated_, *layer.down, delta_.get());
}

}  // namespace detcheck
