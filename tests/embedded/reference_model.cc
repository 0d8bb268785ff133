#include "tests/embedded/reference_model.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/base/rng.h"
#include "engine/embedded/weights_dtype.h"

namespace detcheck {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

std::string LayerPrefix(int layer) {
  return "model.layers." + std::to_string(layer) + ".";
}

Row RmsNorm(const Row& x, const std::vector<float>& gain, double eps) {
  double squares = 0.0;
  for (const double value : x) squares += value * value;
  const double scale = 1.0 / std::sqrt(squares / static_cast<double>(x.size()) + eps);
  Row out(x.size());
  for (size_t i = 0; i < x.size(); ++i) out[i] = x[i] * scale * gain[i];
  return out;
}

Row Multiply(const std::vector<float>& w, const Row& x) {
  Row out(w.size() / x.size());
  for (size_t n = 0; n < out.size(); ++n) {
    for (size_t k = 0; k < x.size(); ++k) out[n] += w[n * x.size() + k] * x[k];
  }
  return out;
}

/// _compute_llama3_parameters
double Llama3Frequency(double freq, const Llama3RopeScaling& scaling) {
  const double old_context = scaling.original_max_position_embeddings;
  const double wavelen = 2.0 * std::numbers::pi / freq;
  if (wavelen < old_context / scaling.high_freq_factor) return freq;
  if (wavelen > old_context / scaling.low_freq_factor) return freq / scaling.factor;
  const double smooth = (old_context / wavelen - scaling.low_freq_factor) /
                        (scaling.high_freq_factor - scaling.low_freq_factor);
  return (1.0 - smooth) * freq / scaling.factor + smooth * freq;
}

/// apply_rotary_pos_emb: x · cos + rotate_half(x) · sin
Row Rope(const Row& x, int position, const ModelConfig& config) {
  const int half = config.head_dim / 2;
  Row out(x.size());
  for (int i = 0; i < config.head_dim; ++i) {
    double freq = std::pow(config.rope_theta, -2.0 * (i % half) / config.head_dim);
    if (config.rope_scaling) freq = Llama3Frequency(freq, *config.rope_scaling);
    const double rotated = i < half ? -x[i + half] : x[i - half];
    out[i] = x[i] * std::cos(position * freq) + rotated * std::sin(position * freq);
  }
  return out;
}

Row Head(const Row& projected, int head, int head_dim) {
  return {projected.begin() + head * head_dim, projected.begin() + (head + 1) * head_dim};
}

/// Heads of one token's projection `name` after the norm (`norm` empty: none) and RoPE.
Rows RotatedHeads(const ModelConfig& config, const MapWeights& weights, const std::string& name,
                  const std::string& norm, const Row& x, int position) {
  const Row projected = Multiply(weights.at(name), x);
  Rows heads;
  for (int h = 0; h * config.head_dim < static_cast<int>(projected.size()); ++h) {
    Row head = Head(projected, h, config.head_dim);
    if (config.qk_norm) head = RmsNorm(head, weights.at(norm), config.rms_norm_eps);
    heads.push_back(Rope(head, position, config));
  }
  return heads;
}

Row Softmax(Row scores) {
  const double max = *std::max_element(scores.begin(), scores.end());
  double sum = 0.0;
  for (double& score : scores) sum += score = std::exp(score - max);
  for (double& score : scores) score /= sum;
  return scores;
}

Rows Attention(const ModelConfig& config, const MapWeights& weights, int layer, const Rows& x) {
  const std::string prefix = LayerPrefix(layer) + "self_attn.";
  std::vector<Rows> keys;
  Rows values;
  Rows out;
  for (size_t t = 0; t < x.size(); ++t) {
    const auto position = static_cast<int>(t);
    const Rows queries = RotatedHeads(config, weights, prefix + "q_proj.weight",
                                      prefix + "q_norm.weight", x[t], position);
    keys.push_back(RotatedHeads(config, weights, prefix + "k_proj.weight", prefix + "k_norm.weight",
                                x[t], position));
    values.push_back(Multiply(weights.at(prefix + "v_proj.weight"), x[t]));
    Row heads(config.q_width());
    for (int h = 0; h < config.num_heads; ++h) {
      const int kv_head = h / (config.num_heads / config.num_kv_heads);
      Row scores(t + 1);
      for (size_t s = 0; s <= t; ++s) {
        for (int e = 0; e < config.head_dim; ++e) scores[s] += queries[h][e] * keys[s][kv_head][e];
        scores[s] /= std::sqrt(config.head_dim);
      }
      const Row probabilities = Softmax(scores);
      for (size_t s = 0; s <= t; ++s) {
        for (int e = 0; e < config.head_dim; ++e) {
          heads[h * config.head_dim + e] +=
              probabilities[s] * values[s][kv_head * config.head_dim + e];
        }
      }
    }
    out.push_back(Multiply(weights.at(prefix + "o_proj.weight"), heads));
  }
  return out;
}

Row Mlp(const MapWeights& weights, int layer, const Row& x) {
  const std::string prefix = LayerPrefix(layer) + "mlp.";
  const Row gate = Multiply(weights.at(prefix + "gate_proj.weight"), x);
  Row gated = Multiply(weights.at(prefix + "up_proj.weight"), x);
  for (size_t i = 0; i < gated.size(); ++i) gated[i] *= gate[i] / (1.0 + std::exp(-gate[i]));
  return Multiply(weights.at(prefix + "down_proj.weight"), gated);
}

void AddTo(Row* x, const Row& addend) {
  for (size_t i = 0; i < x->size(); ++i) (*x)[i] += addend[i];
}

}  // namespace

MapWeights::MapWeights(const ModelConfig& config, uint64_t seed) {
  Rng rng(seed);
  const auto draw = [&](const std::string& name, int rows, int cols, double mean, double spread) {
    std::vector<float>& values = tensors_[name];
    for (int i = 0; i < rows * cols; ++i) {
      const auto value = static_cast<float>(mean + spread * (2.0 * rng.Unit() - 1.0));
      values.push_back(FloatFromBf16(Bf16FromFloat(value)));
    }
  };
  const int d = config.hidden_size;
  draw("model.embed_tokens.weight", config.vocab_size, d, 0.0, 1.0);
  draw("model.norm.weight", 1, d, 1.0, 0.5);
  draw("lm_head.weight", config.vocab_size, d, 0.0, 0.5);
  for (int layer = 0; layer < config.num_layers; ++layer) {
    const std::string prefix = LayerPrefix(layer);
    draw(prefix + "input_layernorm.weight", 1, d, 1.0, 0.5);
    draw(prefix + "self_attn.q_proj.weight", config.q_width(), d, 0.0, 0.5);
    draw(prefix + "self_attn.k_proj.weight", config.kv_width(), d, 0.0, 0.5);
    draw(prefix + "self_attn.v_proj.weight", config.kv_width(), d, 0.0, 0.5);
    draw(prefix + "self_attn.o_proj.weight", d, config.q_width(), 0.0, 0.3);
    draw(prefix + "self_attn.q_norm.weight", 1, config.head_dim, 1.5, 0.5);
    draw(prefix + "self_attn.k_norm.weight", 1, config.head_dim, 1.5, 0.5);
    draw(prefix + "post_attention_layernorm.weight", 1, d, 1.0, 0.5);
    draw(prefix + "mlp.gate_proj.weight", config.intermediate_size, d, 0.0, 0.5);
    draw(prefix + "mlp.up_proj.weight", config.intermediate_size, d, 0.0, 0.5);
    draw(prefix + "mlp.down_proj.weight", d, config.intermediate_size, 0.0, 0.2);
  }
}

void MapWeights::Read(const std::string& name, const std::vector<int64_t>& shape, DType dtype,
                      void* out) {
  int64_t count = 1;
  for (const int64_t dim : shape) count *= dim;
  ConvertElements(DType::kF32, tensors_.at(name).data(), dtype, out, count);
}

std::vector<std::vector<double>> ReferenceLogprobs(const ModelConfig& config,
                                                   const MapWeights& weights,
                                                   const std::vector<TokenId>& ids) {
  const std::vector<float>& embed = weights.at("model.embed_tokens.weight");
  Rows x;
  for (const TokenId id : ids) {
    const auto row = embed.begin() + int64_t{id} * config.hidden_size;
    x.emplace_back(row, row + config.hidden_size);
  }
  for (int layer = 0; layer < config.num_layers; ++layer) {
    const auto norm = [&](const char* name) {
      Rows normed;
      for (const Row& row : x) {
        normed.push_back(RmsNorm(row, weights.at(LayerPrefix(layer) + name), config.rms_norm_eps));
      }
      return normed;
    };
    const Rows attended = Attention(config, weights, layer, norm("input_layernorm.weight"));
    for (size_t t = 0; t < x.size(); ++t) AddTo(&x[t], attended[t]);
    const Rows normed = norm("post_attention_layernorm.weight");
    for (size_t t = 0; t < x.size(); ++t) AddTo(&x[t], Mlp(weights, layer, normed[t]));
  }
  const std::vector<float>& head =
      config.tie_word_embeddings ? embed : weights.at("lm_head.weight");
  for (Row& row : x) {
    row = Multiply(head, RmsNorm(row, weights.at("model.norm.weight"), config.rms_norm_eps));
    row = Softmax(row);
    for (double& probability : row) probability = std::log(probability);
  }
  return x;
}

}  // namespace detcheck
