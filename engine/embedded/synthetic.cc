#include "engine/embedded/synthetic.h"

#include <array>
#include <cmath>
#include <string_view>

#include "engine/base/error.h"
#include "engine/embedded/synthetic_fill.h"

namespace detcheck {
namespace {

/// Standard deviation of the gains of norms, and of silu(g) · u for standard normal g and u.
constexpr double kGainStd = 0.1;
constexpr double kGatedStd = 0.6;
/// Values averaged by attention weights are smaller than the values.
constexpr double kAttendedStd = 0.6;

ModelConfig TinyConfig() {
  ModelConfig config;
  config.name = "synthetic:tiny";
  config.architecture = Architecture::kLlama;
  config.num_layers = 4;
  config.hidden_size = 64;
  config.num_heads = 8;
  config.num_kv_heads = 2;
  config.head_dim = 32;
  config.intermediate_size = 192;
  config.vocab_size = 32000;
  config.context_len = 16384;
  config.rms_norm_eps = 1e-5f;
  config.rope_theta = 10000.0;
  config.eos_ids = {2};
  return config;
}

ModelConfig TinyQwen3Config() {
  ModelConfig config = TinyConfig();
  config.name = "synthetic:tiny-qwen3";
  config.architecture = Architecture::kQwen3;
  config.num_layers = 3;
  config.hidden_size = 96;
  config.num_heads = 6;
  config.num_kv_heads = 3;
  config.head_dim = 64;
  config.intermediate_size = 256;
  config.rms_norm_eps = 1e-6f;
  config.rope_theta = 1e6;
  config.qk_norm = true;
  config.tie_word_embeddings = true;
  return config;
}

ModelConfig Qwen3Config() {
  ModelConfig config;
  config.name = "synthetic:qwen3-0.6b";
  config.architecture = Architecture::kQwen3;
  config.num_layers = 28;
  config.hidden_size = 1024;
  config.num_heads = 16;
  config.num_kv_heads = 8;
  config.head_dim = 128;
  config.intermediate_size = 3072;
  config.vocab_size = 151936;
  config.context_len = 40960;
  config.rms_norm_eps = 1e-6f;
  config.rope_theta = 1e6;
  config.qk_norm = true;
  config.tie_word_embeddings = true;
  config.eos_ids = {151645};
  return config;
}

ModelConfig Qwen3LargeConfig() {
  ModelConfig config = Qwen3Config();
  config.name = "synthetic:qwen3-8b";
  config.num_layers = 36;
  config.hidden_size = 4096;
  config.num_heads = 32;
  config.intermediate_size = 12288;
  config.tie_word_embeddings = false;
  return config;
}

ModelConfig Llama31Config() {
  ModelConfig config;
  config.name = "synthetic:llama-3.1-8b";
  config.architecture = Architecture::kLlama;
  config.num_layers = 32;
  config.hidden_size = 4096;
  config.num_heads = 32;
  config.num_kv_heads = 8;
  config.head_dim = 128;
  config.intermediate_size = 14336;
  config.vocab_size = 128256;
  config.context_len = 131072;
  config.rms_norm_eps = 1e-5f;
  config.rope_theta = 500000.0;
  config.rope_scaling = Llama3RopeScaling{};
  config.eos_ids = {128001};
  return config;
}

std::vector<SyntheticModel> SyntheticModels() {
  return {{TinyConfig(), {0.2, 2.5, 0.5, 3.5}},
          {TinyQwen3Config(), {0.1, 2.5, 1.0, 3.5}},
          {Qwen3Config(), {0.02, 2.5, 0.25, 3.5}},
          {Qwen3LargeConfig(), {0.02, 2.5, 0.25, 3.5}},
          {Llama31Config(), {0.02, 2.5, 0.25, 3.5}}};
}

constexpr std::string_view kPrefix = "synthetic:";

/// Index and distribution of one tensor.
struct TensorRecipe {
  uint32_t index = 0;
  double mean = 0.0;
  double std = 0.0;
};

enum ModelTensor : uint32_t { kEmbedTokens, kFinalNorm, kLmHead };

struct LayerTensor {
  std::string_view name;
  double mean;
  double std;
};

/// Tensors of a layer, in the order of their indices.
std::array<LayerTensor, 11> LayerTensors(const SyntheticModel& model) {
  const ModelConfig& c = model.config;
  const SyntheticRecipe& r = model.recipe;
  const double unit = 1.0 / std::sqrt(c.hidden_size);  // of a projection that keeps the scale
  const double qk = std::sqrt(r.score_std);            // of q and k elements
  const double qk_std = c.qk_norm ? unit : qk * unit;
  return {{{"input_layernorm", 1.0, kGainStd},
           {"self_attn.q_proj", 0.0, qk_std},
           {"self_attn.k_proj", 0.0, qk_std},
           {"self_attn.v_proj", 0.0, unit},
           {"self_attn.o_proj", 0.0, r.branch_std / (kAttendedStd * std::sqrt(c.q_width()))},
           {"self_attn.q_norm", qk, kGainStd * qk},
           {"self_attn.k_norm", qk, kGainStd * qk},
           {"post_attention_layernorm", 1.0, kGainStd},
           {"mlp.gate_proj", 0.0, unit},
           {"mlp.up_proj", 0.0, unit},
           {"mlp.down_proj", 0.0, r.branch_std / (kGatedStd * std::sqrt(c.intermediate_size))}}};
}

/// `name` is one of the model's tensors: WeightReader asks for no others.
TensorRecipe FindTensor(const SyntheticModel& model, std::string_view name) {
  const SyntheticRecipe& r = model.recipe;
  const double head_std = r.logit_std / std::sqrt(model.config.hidden_size);
  // A tied head is as large as the embedding; the gain before it makes up for that.
  const double gain = model.config.tie_word_embeddings ? head_std / r.embedding_std : 1.0;
  if (name == "model.embed_tokens.weight") return {kEmbedTokens, 0.0, r.embedding_std};
  if (name == "model.norm.weight") return {kFinalNorm, gain, kGainStd * gain};
  if (name == "lm_head.weight") return {kLmHead, 0.0, head_std};
  const std::array<LayerTensor, 11> tensors = LayerTensors(model);
  for (int layer = 0; layer < model.config.num_layers; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".";
    if (!name.starts_with(prefix)) continue;
    for (uint32_t k = 0; k < tensors.size(); ++k) {
      if (name != prefix + std::string(tensors[k].name) + ".weight") continue;
      return {16 * static_cast<uint32_t>(layer + 1) + k, tensors[k].mean, tensors[k].std};
    }
  }
  throw Error(ErrorCode::kInternal, model.config.name + ": no tensor " + std::string(name));
}

}  // namespace

std::vector<std::string> SyntheticModelNames() {
  std::vector<std::string> names;
  for (const SyntheticModel& model : SyntheticModels()) {
    names.push_back(model.config.name.substr(kPrefix.size()));
  }
  return names;
}

SyntheticModel FindSyntheticModel(const std::string& name) {
  std::string known;
  for (const SyntheticModel& model : SyntheticModels()) {
    const std::string model_name = model.config.name.substr(kPrefix.size());
    if (model_name == name) return model;
    known += (known.empty() ? "" : ", ") + model_name;
  }
  throw Error(ErrorCode::kUsage,
              "--model synthetic:" + name + ": no such synthetic model; there are: " + known);
}

SyntheticWeights::SyntheticWeights(const SyntheticModel& model, uint64_t seed, int num_threads)
    : model_(model), seed_(seed), num_threads_(num_threads) {}

void SyntheticWeights::Read(const std::string& name, const std::vector<int64_t>& shape, DType dtype,
                            void* out) {
  int64_t count = 1;
  for (const int64_t dim : shape) count *= dim;
  FillSynthetic(*Recipe(name), count, dtype, num_threads_, out);
}

std::optional<SyntheticTensor> SyntheticWeights::Recipe(const std::string& name) const {
  const TensorRecipe recipe = FindTensor(model_, name);
  return SyntheticTensor{seed_, recipe.index, static_cast<float>(recipe.mean),
                         SyntheticTensor::ScaleOf(recipe.std)};
}

Manifest SyntheticWeights::Describe() {
  return {{"model.weights_seed", std::to_string(seed_), FieldSource::kObserved}};
}

}  // namespace detcheck
