#include "engine/embedded/synthetic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string_view>
#include <unordered_map>

#include "engine/base/sha256.h"
#include "engine/embedded/synthetic_fill.h"
#include "engine/embedded/synthetic_text.h"
#include "engine/embedded/weights_dtype.h"

namespace detcheck {
namespace {

std::string Digest(const HostWeight& weight) {
  const size_t num_bytes =
      static_cast<size_t>(weight.rows * weight.cols) * DTypeBytes(weight.dtype);
  return Sha256Hex({reinterpret_cast<const char*>(weight.data.get()), num_bytes});
}

TEST(FillSynthetic, EveryElementIsItsOwn) {
  const SyntheticTensor tensor{0x123456789abcdef0, 37, 1.0f, SyntheticTensor::ScaleOf(0.1)};
  const int64_t count = (int64_t{1} << 20) + 77;
  for (const int num_threads : {1, 3}) {
    std::vector<float> f32(count);
    std::vector<uint16_t> bf16(count);
    std::vector<uint16_t> f16(count);
    FillSynthetic(tensor, count, DType::kF32, num_threads, f32.data());
    FillSynthetic(tensor, count, DType::kBf16, num_threads, bf16.data());
    FillSynthetic(tensor, count, DType::kF16, num_threads, f16.data());
    for (int64_t i = 0; i < count; i += i < 300 || i > count - 300 ? 1 : 997) {
      const float element = SyntheticElement(tensor, i);
      ASSERT_EQ(f32[i], element) << i;
      ASSERT_EQ(bf16[i], Bf16FromFloat(element)) << i;
      ASSERT_EQ(f16[i], F16FromFloat(element)) << i;
    }
  }
}

TEST(FillSynthetic, WritesNothingBeyondTheTensor) {
  const SyntheticTensor tensor{1, 2, 0.0f, 1.0f};
  std::vector<float> out(70, 0.125f);
  FillSynthetic(tensor, 65, DType::kF32, 2, out.data());
  EXPECT_NE(out[64], 0.125f);
  for (int i = 65; i < 70; ++i) EXPECT_EQ(out[i], 0.125f);
}

TEST(FillSynthetic, MeanAndStandardDeviation) {
  const SyntheticTensor tensor{5, 6, 0.25f, SyntheticTensor::ScaleOf(2.0)};
  const int64_t count = 1 << 18;
  std::vector<float> values(count);
  FillSynthetic(tensor, count, DType::kF32, 1, values.data());
  double sum = 0.0;
  double squares = 0.0;
  for (const float value : values) {
    sum += value;
    squares += double{value} * value;
  }
  const double mean = sum / count;
  EXPECT_NEAR(mean, 0.25, 0.02);  // five standard errors
  EXPECT_NEAR(std::sqrt(squares / count - mean * mean), 2.0, 0.02);
}

/// Kept digests of bf16 tensors at seed 42: a change of them changes every golden file.
TEST(SyntheticWeights, GoldenDigests) {
  const SyntheticModel tiny = FindSyntheticModel("tiny");
  SyntheticWeights tiny_weights(tiny, 42, 2);
  const WeightReader tiny_reader(tiny.config, &tiny_weights);
  EXPECT_EQ(Digest(tiny_reader.EmbedTokens()),
            "2a02670f8f76c5f8a080c35f2d35b39ef7b26a7239969e1574f9f24525f66a8a");
  EXPECT_EQ(Digest(tiny_reader.LmHead()),
            "37504e589de3fd707b79e37a7601bc0e03366f0aae0a22b0972f189343795987");
  EXPECT_EQ(Digest(tiny_reader.Qkv(3)),
            "c64a317ffe7ad2d30bb5320fcda56c270060a305f7ba5a6fc69855e64be01b3e");
  EXPECT_EQ(Digest(tiny_reader.InputNorm(0)),
            "d61095bb39cf63b8e22effa50fe87c5bd3b83ca58f50904d3e44c93594af4882");

  const SyntheticModel qwen3 = FindSyntheticModel("qwen3-0.6b");
  SyntheticWeights qwen3_weights(qwen3, 42, 2);
  const WeightReader qwen3_reader(qwen3.config, &qwen3_weights);
  EXPECT_EQ(Digest(qwen3_reader.GateUp(27)),
            "f045177bee4db8f3e2abef905d44ee6e06bed09b2d6e018213e0a219a4e8233d");
  EXPECT_EQ(Digest(qwen3_reader.KNorm(5)),
            "bb7d302edca2602023d3621e6b3dca36cb8d50a62bf9357e7c436618734d5d2b");
}

TEST(SyntheticWeights, SeedsAndTensorsDiffer) {
  const SyntheticModel tiny = FindSyntheticModel("tiny");
  SyntheticWeights one(tiny, 1, 1);
  SyntheticWeights two(tiny, 2, 1);
  const WeightReader reader_one(tiny.config, &one);
  const WeightReader reader_two(tiny.config, &two);
  EXPECT_NE(Digest(reader_one.Qkv(0)), Digest(reader_two.Qkv(0)));
  EXPECT_NE(Digest(reader_one.Qkv(0)), Digest(reader_one.Qkv(1)));
  EXPECT_NE(Digest(reader_one.InputNorm(0)), Digest(reader_one.PostAttentionNorm(0)));
}

TEST(SyntheticWeights, ConfigsAreConsistent) {
  for (const std::string& name : SyntheticModelNames()) {
    const ModelConfig config = FindSyntheticModel(name).config;
    EXPECT_EQ(config.name, "synthetic:" + name);
    EXPECT_EQ(config.num_heads % config.num_kv_heads, 0);
    EXPECT_GE(config.vocab_size, 32000);
    EXPECT_EQ(config.qk_norm, config.architecture == Architecture::kQwen3);
    EXPECT_EQ(config.rope_scaling.has_value(), name == "llama-3.1-8b");
  }
}

// Elements from the host and from the recipe that a device is given are the same.
TEST(SyntheticWeights, RecipesAreWhatIsRead) {
  const SyntheticModel tiny = FindSyntheticModel("tiny");
  SyntheticWeights weights(tiny, 42, 1);
  const WeightReader reader(tiny.config, &weights);
  const WeightReader recipes(tiny.config, &weights, /*recipes=*/true);
  const HostWeight made = reader.Qkv(1);
  const HostWeight recipe = recipes.Qkv(1);
  EXPECT_EQ(recipe.data, nullptr);
  ASSERT_EQ(recipe.recipe.size(), 3u);
  const auto* elements = reinterpret_cast<const uint16_t*>(made.data.get());
  int64_t row = 0;
  for (const SyntheticRows& part : recipe.recipe) {
    const int64_t count = part.rows * recipe.cols;
    for (int64_t i = 0; i < count; i += 37) {
      ASSERT_EQ(elements[row * recipe.cols + i], Bf16FromFloat(SyntheticElement(part.tensor, i)));
    }
    row += part.rows;
  }
  EXPECT_EQ(row, recipe.rows);
}

TEST(SyntheticText, Examples) {
  EXPECT_EQ(SyntheticTokenText(0), " ba");
  EXPECT_EQ(SyntheticTokenText(99), " zu");
  EXPECT_EQ(SyntheticTokenText(100), " baba");
  EXPECT_EQ(SyntheticTokenText(10099), " zuzu");
  EXPECT_EQ(SyntheticTokenText(10100), " bababa");
  EXPECT_EQ(SyntheticTokenText(151935), DecodeSynthetic(std::vector<TokenId>{151935}));
  EXPECT_EQ(DecodeSynthetic(std::vector<TokenId>{1, 6, 100}), " be ce baba");
  EXPECT_EQ(DecodeSynthetic({}), "");
}

TEST(SyntheticText, AllButTheTwinsAreUnique) {
  std::unordered_map<std::string, TokenId> ids;
  int num_shared = 0;
  for (TokenId id = 0; id < 151936; ++id) {
    const auto [first, inserted] = ids.try_emplace(SyntheticTokenText(id), id);
    if (inserted) continue;
    ++num_shared;
    EXPECT_EQ(first->second, kSyntheticTwinA);
    EXPECT_EQ(id, kSyntheticTwinB);
  }
  EXPECT_EQ(num_shared, 1);
  EXPECT_LT(kSyntheticTwinB, 32000);
}

}  // namespace
}  // namespace detcheck
