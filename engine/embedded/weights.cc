#include "engine/embedded/weights.h"

#include <utility>

#include "engine/embedded/weights_dtype.h"

namespace detcheck {
namespace {

std::string LayerName(int layer, const char* tensor) {
  return "model.layers." + std::to_string(layer) + "." + tensor + ".weight";
}

HostWeight NewHostWeight(DType dtype, int64_t rows, int64_t cols) {
  const size_t num_bytes = static_cast<size_t>(rows * cols) * DTypeBytes(dtype);
  return {dtype, rows, cols, std::make_unique_for_overwrite<std::byte[]>(num_bytes), {}};
}

}  // namespace

HostWeight WeightReader::Stack(const std::vector<RowBlock>& blocks, int64_t cols) const {
  int64_t rows = 0;
  for (const RowBlock& block : blocks) rows += block.rows;
  if (recipes_) {
    std::vector<SyntheticRows> recipe = RecipeOf(blocks);
    if (!recipe.empty()) return {config_.dtype, rows, cols, nullptr, std::move(recipe)};
  }
  HostWeight weight = NewHostWeight(config_.dtype, rows, cols);
  std::byte* out = weight.data.get();
  for (const RowBlock& block : blocks) {
    source_->Read(block.name, {block.rows, cols}, config_.dtype, out);
    out += static_cast<size_t>(block.rows * cols) * DTypeBytes(config_.dtype);
  }
  return weight;
}

// Empty where a block has none.
std::vector<SyntheticRows> WeightReader::RecipeOf(const std::vector<RowBlock>& blocks) const {
  std::vector<SyntheticRows> recipe;
  for (const RowBlock& block : blocks) {
    const std::optional<SyntheticTensor> tensor = source_->Recipe(block.name);
    if (!tensor) return {};
    recipe.push_back({*tensor, block.rows});
  }
  return recipe;
}

HostWeight WeightReader::Vector(const std::string& name, int64_t len) const {
  HostWeight weight = NewHostWeight(config_.dtype, 1, len);
  source_->Read(name, {len}, config_.dtype, weight.data.get());
  return weight;
}

HostWeight WeightReader::EmbedTokens() const {
  return Stack({{"model.embed_tokens.weight", config_.vocab_size}}, config_.hidden_size);
}

HostWeight WeightReader::LmHead() const {
  return Stack({{"lm_head.weight", config_.vocab_size}}, config_.hidden_size);
}

HostWeight WeightReader::FinalNorm() const {
  return Vector("model.norm.weight", config_.hidden_size);
}

HostWeight WeightReader::InputNorm(int layer) const {
  return Vector(LayerName(layer, "input_layernorm"), config_.hidden_size);
}

HostWeight WeightReader::Qkv(int layer) const {
  return Stack({{LayerName(layer, "self_attn.q_proj"), config_.q_width()},
                {LayerName(layer, "self_attn.k_proj"), config_.kv_width()},
                {LayerName(layer, "self_attn.v_proj"), config_.kv_width()}},
               config_.hidden_size);
}

HostWeight WeightReader::QNorm(int layer) const {
  return Vector(LayerName(layer, "self_attn.q_norm"), config_.head_dim);
}

HostWeight WeightReader::KNorm(int layer) const {
  return Vector(LayerName(layer, "self_attn.k_norm"), config_.head_dim);
}

HostWeight WeightReader::OutputProjection(int layer) const {
  return Stack({{LayerName(layer, "self_attn.o_proj"), config_.hidden_size}}, config_.q_width());
}

HostWeight WeightReader::PostAttentionNorm(int layer) const {
  return Vector(LayerName(layer, "post_attention_layernorm"), config_.hidden_size);
}

HostWeight WeightReader::GateUp(int layer) const {
  return Stack({{LayerName(layer, "mlp.gate_proj"), config_.intermediate_size},
                {LayerName(layer, "mlp.up_proj"), config_.intermediate_size}},
               config_.hidden_size);
}

HostWeight WeightReader::Down(int layer) const {
  return Stack({{LayerName(layer, "mlp.down_proj"), config_.hidden_size}},
               config_.intermediate_size);
}

}  // namespace detcheck
