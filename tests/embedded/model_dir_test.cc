#include "engine/embedded/model_dir.h"

#include <gtest/gtest.h>

#include <cstring>

#include "engine/base/sha256.h"
#include "engine/embedded/weights_dtype.h"
#include "tests/embedded/expect_error.h"
#include "tests/embedded/safetensors_bytes.h"
#include "tests/embedded/temp_dir.h"

namespace detcheck {
namespace {

EngineOptions Options(const std::string& model) {
  EngineOptions options;
  options.model = model;
  return options;
}

std::vector<float> Floats(const HostWeight& weight) {
  std::vector<float> values(static_cast<size_t>(weight.rows * weight.cols));
  ConvertElements(weight.dtype, weight.data.get(), DType::kF32, values.data(),
                  static_cast<int64_t>(values.size()));
  return values;
}

TEST(LoadModel, Synthetic) {
  const LoadedModel loaded = LoadModel(Options("synthetic:tiny"));
  EXPECT_EQ(loaded.config.name, "synthetic:tiny");
  EXPECT_EQ(loaded.config.dtype, DType::kBf16);
  const Manifest manifest = loaded.weights->Describe();
  ASSERT_EQ(manifest.size(), 1u);
  EXPECT_EQ(manifest[0].name, "model.weights_seed");
  EXPECT_EQ(manifest[0].value, "42");
}

TEST(LoadModel, UnknownSyntheticName) {
  ExpectError(ErrorCode::kUsage,
              "--model synthetic:big: no such synthetic model; there are: tiny, tiny-qwen3, "
              "qwen3-0.6b, qwen3-8b, llama-3.1-8b",
              [] { LoadModel(Options("synthetic:big")); });
}

TEST(LoadModel, DTypeOption) {
  EngineOptions options = Options("synthetic:tiny");
  options.dtype = DType::kF32;
  EXPECT_EQ(LoadModel(options).config.dtype, DType::kF32);
}

/// A directory with a model of one layer: D = 2, H = 2, G = 1, E = 2, F = 3, V = 2.
class ModelDirTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_.Write("config.json", R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 2,
      "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 2,
      "intermediate_size": 3, "vocab_size": 2, "max_position_embeddings": 8,
      "torch_dtype": "float32"})");
    WriteWeights();
  }

  void WriteWeights() { dir_.Write("model.safetensors", SafetensorsBytes(tensors_)); }
  LoadedModel Load() { return LoadModel(Options(dir_.path())); }

  TempDir dir_;
  std::vector<FloatTensor> tensors_ = {
      {"model.embed_tokens.weight", "[2, 2]", {1, 2, 3, 4}},
      {"model.layers.0.self_attn.k_proj.weight", "[2, 2]", {21, 22, 23, 24}},
      {"model.layers.0.self_attn.q_proj.weight", "[4, 2]", {11, 12, 13, 14, 15, 16, 17, 18}},
      {"model.layers.0.self_attn.v_proj.weight", "[2, 2]", {31, 32, 33, 34}},
      {"model.layers.0.mlp.up_proj.weight", "[3, 2]", {51, 52, 53, 54, 55, 56}},
      {"model.layers.0.mlp.gate_proj.weight", "[3, 2]", {41, 42, 43, 44, 45, 46}},
      {"model.norm.weight", "[2]", {1.5f, -0.5f}},
  };
};

TEST_F(ModelDirTest, NameIsTheLastPartOfThePath) {
  const std::string name = dir_.path().substr(dir_.path().rfind('/') + 1);
  EXPECT_EQ(Load().config.name, name);
  EXPECT_EQ(LoadModel(Options(dir_.path() + "/")).config.name, name);
}

TEST_F(ModelDirTest, FusesRows) {
  const LoadedModel loaded = Load();
  const WeightReader reader(loaded.config, loaded.weights.get());
  const HostWeight qkv = reader.Qkv(0);
  EXPECT_EQ(qkv.rows, 8);
  EXPECT_EQ(qkv.cols, 2);
  EXPECT_EQ(Floats(qkv),
            (std::vector<float>{11, 12, 13, 14, 15, 16, 17, 18, 21, 22, 23, 24, 31, 32, 33, 34}));
  EXPECT_EQ(Floats(reader.GateUp(0)),
            (std::vector<float>{41, 42, 43, 44, 45, 46, 51, 52, 53, 54, 55, 56}));
  EXPECT_EQ(Floats(reader.FinalNorm()), (std::vector<float>{1.5f, -0.5f}));
}

TEST_F(ModelDirTest, ConvertsToTheDTypeAskedFor) {
  tensors_[0].values[0] = 1.0f + 3 * 0x1p-8f;  // a tie in bf16: to even, up
  WriteWeights();
  EngineOptions options = Options(dir_.path());
  options.dtype = DType::kBf16;
  const LoadedModel loaded = LoadModel(options);
  EXPECT_EQ(loaded.config.dtype, DType::kBf16);
  const HostWeight embed = WeightReader(loaded.config, loaded.weights.get()).EmbedTokens();
  EXPECT_EQ(embed.dtype, DType::kBf16);
  EXPECT_EQ(Floats(embed), (std::vector<float>{1.015625f, 2, 3, 4}));
}

TEST_F(ModelDirTest, RefusesTensorsThatDoNotFit) {
  const std::string file = dir_.File("model.safetensors");
  tensors_[0].shape = "[4, 1]";
  tensors_[1].values[2] = std::numeric_limits<float>::infinity();
  WriteWeights();
  const LoadedModel loaded = Load();
  const WeightReader reader(loaded.config, loaded.weights.get());
  ExpectError(ErrorCode::kInput,
              file + ": tensor model.embed_tokens.weight: shape [4, 1], expected [2, 2]",
              [&] { reader.EmbedTokens(); });
  ExpectError(ErrorCode::kInput,
              file +
                  ": tensor model.layers.0.self_attn.k_proj.weight: element 2 is not finite in "
                  "float32",
              [&] { reader.Qkv(0); });
  ExpectError(ErrorCode::kInput, file + ": tensor lm_head.weight: missing",
              [&] { reader.LmHead(); });
}

TEST_F(ModelDirTest, RefusesElementTypesThatCannotBeUsed) {
  const std::string file = dir_.Write(
      "model.safetensors", SafetensorsBytes(R"({"model.norm.weight": {"dtype": "I16", "shape": [2],
                           "data_offsets": [0, 4]}})",
                                            "1234"));
  const LoadedModel loaded = Load();
  ExpectError(ErrorCode::kInput,
              file + ": tensor model.norm.weight: dtype I16 is not BF16, F16 or F32",
              [&] { WeightReader(loaded.config, loaded.weights.get()).FinalNorm(); });
}

TEST_F(ModelDirTest, RefusesIncompleteDirectories) {
  const std::string missing = dir_.File("none");
  ExpectError(ErrorCode::kInput, missing + ": no such directory",
              [&] { LoadModel(Options(missing)); });
  std::filesystem::remove(dir_.File("model.safetensors"));
  ExpectError(
      ErrorCode::kInput,
      dir_.path() + ": no weights: neither model.safetensors nor model.safetensors.index.json",
      [&] { Load(); });
  std::filesystem::remove(dir_.File("config.json"));
  ExpectError(ErrorCode::kInput, dir_.path() + "/config.json: cannot be read", [&] { Load(); });
}

TEST_F(ModelDirTest, DigestsOfFiles) {
  const Manifest manifest = Load().weights->Describe();
  ASSERT_EQ(manifest.size(), 1u);
  EXPECT_EQ(manifest[0].name, "model.weights_sha256");
  EXPECT_EQ(manifest[0].value, Sha256Hex(SafetensorsBytes(tensors_)));
}

TEST_F(ModelDirTest, DigestOfShards) {
  std::filesystem::remove(dir_.File("model.safetensors"));
  const std::string one = SafetensorsBytes({{"a", "[1]", {1.0f}}});
  const std::string two = SafetensorsBytes({{"b", "[1]", {2.0f}}});
  dir_.Write("1.safetensors", one);
  dir_.Write("2.safetensors", two);
  dir_.Write("model.safetensors.index.json",
             R"({"weight_map": {"b": "2.safetensors", "a": "1.safetensors"}})");
  EXPECT_EQ(Load().weights->Describe()[0].value,
            Sha256Hex(Sha256Hex(one) + "  1.safetensors\n" + Sha256Hex(two) + "  2.safetensors\n"));
}

}  // namespace
}  // namespace detcheck
