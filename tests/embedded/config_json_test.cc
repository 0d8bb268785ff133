#include "engine/embedded/config_json.h"

#include <gtest/gtest.h>

#include "tests/embedded/expect_error.h"
#include "tests/embedded/temp_dir.h"

namespace detcheck {
namespace {

/// Fields that every config has, then `more` (which wins: the last of equal keys counts).
std::string Config(const std::string& more) {
  return R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "intermediate_size": 96, "vocab_size": 500,
    "max_position_embeddings": 1024)" +
         (more.empty() ? "" : ", " + more) + "}";
}

ModelConfig Parse(const std::string& more) {
  return ParseConfigJson(Config(more), "c.json");
}

TEST(ConfigJson, Defaults) {
  const ModelConfig config = Parse("");
  EXPECT_EQ(config.architecture, Architecture::kLlama);
  EXPECT_EQ(config.num_layers, 2);
  EXPECT_EQ(config.hidden_size, 64);
  EXPECT_EQ(config.num_heads, 4);
  EXPECT_EQ(config.num_kv_heads, 4);
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.intermediate_size, 96);
  EXPECT_EQ(config.vocab_size, 500);
  EXPECT_EQ(config.context_len, 1024);
  EXPECT_EQ(config.rms_norm_eps, 1e-6f);
  EXPECT_EQ(config.rope_theta, 10000.0);
  EXPECT_FALSE(config.rope_scaling);
  EXPECT_FALSE(config.qk_norm);
  EXPECT_FALSE(config.tie_word_embeddings);
  EXPECT_EQ(config.dtype, DType::kF32);
  EXPECT_TRUE(config.eos_ids.empty());
}

TEST(ConfigJson, Llama3) {
  const ModelConfig config = Parse(R"("num_key_value_heads": 2, "rms_norm_eps": 1e-05,
    "rope_theta": 500000.0, "torch_dtype": "bfloat16", "eos_token_id": [3, 5, 7],
    "hidden_act": "silu", "attention_bias": false, "mlp_bias": false, "pretraining_tp": 1,
    "rope_scaling": {"factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
      "original_max_position_embeddings": 512, "rope_type": "llama3"})");
  EXPECT_EQ(config.num_kv_heads, 2);
  EXPECT_EQ(config.rms_norm_eps, 1e-5f);
  EXPECT_EQ(config.rope_theta, 500000.0);
  EXPECT_EQ(config.dtype, DType::kBf16);
  EXPECT_EQ(config.eos_ids, (std::vector<TokenId>{3, 5, 7}));
  ASSERT_TRUE(config.rope_scaling);
  EXPECT_EQ(config.rope_scaling->factor, 32.0);
  EXPECT_EQ(config.rope_scaling->low_freq_factor, 1.0);
  EXPECT_EQ(config.rope_scaling->high_freq_factor, 4.0);
  EXPECT_EQ(config.rope_scaling->original_max_position_embeddings, 512);
}

TEST(ConfigJson, Qwen3) {
  const ModelConfig config = Parse(R"("architectures": ["Qwen3ForCausalLM"], "head_dim": 32,
    "num_key_value_heads": 1, "rope_theta": 1000000, "rope_scaling": null,
    "tie_word_embeddings": true, "dtype": "float16", "eos_token_id": 499,
    "use_sliding_window": false, "sliding_window": null, "max_window_layers": 2,
    "layer_types": ["full_attention", "full_attention"])");
  EXPECT_EQ(config.architecture, Architecture::kQwen3);
  EXPECT_TRUE(config.qk_norm);
  EXPECT_TRUE(config.tie_word_embeddings);
  EXPECT_EQ(config.head_dim, 32);
  EXPECT_EQ(config.num_kv_heads, 1);
  EXPECT_EQ(config.rope_theta, 1e6);
  EXPECT_EQ(config.dtype, DType::kF16);
  EXPECT_EQ(config.eos_ids, std::vector<TokenId>{499});
}

TEST(ConfigJson, Qwen3HeadDimDefault) {
  EXPECT_EQ(Parse(R"("architectures": ["Qwen3ForCausalLM"])").head_dim, 128);
}

TEST(ConfigJson, RopeParameters) {
  const ModelConfig plain =
      Parse(R"("rope_parameters": {"rope_theta": 2e5, "rope_type": "default"})");
  EXPECT_EQ(plain.rope_theta, 2e5);
  EXPECT_FALSE(plain.rope_scaling);
  const ModelConfig scaled = Parse(R"("rope_theta": 3e5, "rope_parameters": {
    "rope_theta": 3e5, "rope_type": "llama3", "factor": 4, "low_freq_factor": 1,
    "high_freq_factor": 2, "original_max_position_embeddings": 64})");
  EXPECT_EQ(scaled.rope_theta, 3e5);
  ASSERT_TRUE(scaled.rope_scaling);
  EXPECT_EQ(scaled.rope_scaling->factor, 4.0);
}

TEST(ConfigJson, OlderRopeTypeField) {
  const ModelConfig config = Parse(R"("rope_scaling": {"type": "llama3", "factor": 8,
    "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 64})");
  EXPECT_TRUE(config.rope_scaling);
}

struct BadConfig {
  const char* more;     ///< Added to Config.
  const char* message;  ///< After "c.json: ".
};

TEST(ConfigJson, RefusesBadValues) {
  const BadConfig cases[] = {
      {R"("architectures": null)", "architectures: missing"},
      {R"("architectures": [])", "architectures: not a list of one name"},
      {R"("architectures": "LlamaForCausalLM")", "architectures: not a list of one name"},
      {R"("architectures": ["GPT2LMHeadModel"])",
       "architectures: \"GPT2LMHeadModel\" is not supported; LlamaForCausalLM and "
       "Qwen3ForCausalLM are"},
      {R"("architectures": [[]])",
       "architectures: a list is not supported; LlamaForCausalLM and Qwen3ForCausalLM are"},
      {R"("hidden_act": "gelu")", "hidden_act: \"gelu\" is not silu"},
      {R"("hidden_act": 3)", "hidden_act: 3 is not silu"},
      {R"("attention_bias": true)", "attention_bias: true is not supported"},
      {R"("attention_bias": "no")", "attention_bias: \"no\" is not true or false"},
      {R"("mlp_bias": true)", "mlp_bias: true is not supported"},
      {R"("use_sliding_window": true)", "use_sliding_window: true is not supported"},
      {R"("layer_types": ["full_attention", "sliding_attention"])",
       "layer_types: \"sliding_attention\" is not supported"},
      {R"("layer_types": 1)", "layer_types: not a list"},
      {R"("quantization_config": {})", "quantization_config: quantised weights are not supported"},
      {R"("partial_rotary_factor": 0.5)",
       "partial_rotary_factor: a factor other than 1 is not supported"},
      {R"("hidden_size": null)", "hidden_size: missing"},
      {R"("hidden_size": 64.0)", "hidden_size: 64.0 is not an integer"},
      {R"("hidden_size": "64")", "hidden_size: \"64\" is not an integer"},
      {R"("hidden_size": 0)", "hidden_size: 0 is not in 1 .. 1048576"},
      {R"("hidden_size": -64)", "hidden_size: -64 is not in 1 .. 1048576"},
      {R"("hidden_size": 18446744073709551615)",
       "hidden_size: 18446744073709551615 is not in 1 .. 1048576"},
      {R"("num_hidden_layers": 5000)", "num_hidden_layers: 5000 is not in 1 .. 4096"},
      {R"("num_attention_heads": 2000)", "num_attention_heads: 2000 is not in 1 .. 1024"},
      {R"("num_attention_heads": 5)",
       "head_dim: missing, and num_attention_heads 5 does not divide hidden_size 64"},
      {R"("num_key_value_heads": 3)",
       "num_key_value_heads: 3 does not divide num_attention_heads 4"},
      {R"("head_dim": 7)", "head_dim: 7 is not an even number in 2 .. 1024"},
      {R"("head_dim": 4096)", "head_dim: 4096 is not in 1 .. 1024"},
      {R"("intermediate_size": [])", "intermediate_size: a list is not an integer"},
      {R"("vocab_size": 1e5)", "vocab_size: 100000.0 is not an integer"},
      {R"("max_position_embeddings": null)", "max_position_embeddings: missing"},
      {R"("rms_norm_eps": 0)", "rms_norm_eps: 0 is not a positive number"},
      {R"("rms_norm_eps": 2.0)", "rms_norm_eps: above 1"},
      {R"("rms_norm_eps": "1e-5")", "rms_norm_eps: \"1e-5\" is not a number"},
      {R"("rope_theta": -1.0)", "rope_theta: -1.0 is not a positive number"},
      {R"("rope_theta": 1e4, "rope_parameters": {"rope_theta": 2e4})",
       "rope_theta: differs from rope_parameters.rope_theta"},
      {R"("rope_scaling": 2)", "rope_scaling: 2 is not an object"},
      {R"("rope_scaling": {"rope_type": "yarn", "factor": 4.0})",
       "rope_scaling.rope_type: \"yarn\" is not supported; llama3 and default are"},
      {R"("rope_scaling": {"type": "linear"})",
       "rope_scaling.type: \"linear\" is not supported; llama3 and default are"},
      {R"("rope_scaling": {"rope_type": "llama3"})", "rope_scaling.factor: missing"},
      {R"("rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 4,
        "high_freq_factor": 4, "original_max_position_embeddings": 64})",
       "rope_scaling.high_freq_factor: not above low_freq_factor"},
      {R"("rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1,
        "high_freq_factor": 4, "original_max_position_embeddings": 0})",
       "rope_scaling.original_max_position_embeddings: 0 is not in 1 .. 268435456"},
      {R"("rope_scaling": {"type": "default"}, "rope_parameters": {"rope_theta": 1.0})",
       "rope_scaling: given beside rope_parameters"},
      {R"("rope_parameters": {"rope_theta": 0})",
       "rope_parameters.rope_theta: 0 is not a positive number"},
      {R"("tie_word_embeddings": 1)", "tie_word_embeddings: 1 is not true or false"},
      {R"("torch_dtype": "int8")", "torch_dtype: \"int8\" is not bfloat16, float16 or float32"},
      {R"("dtype": 16)", "dtype: 16 is not a string"},
      {R"("eos_token_id": 500)", "eos_token_id: 500 is not in 0 .. 499"},
      {R"("eos_token_id": [1, -1])", "eos_token_id: -1 is not in 0 .. 499"},
      {R"("eos_token_id": [[1]])", "eos_token_id: a list is not an integer"},
      {R"("eos_token_id": "two\nlines")", "eos_token_id: \"two\\nlines\" is not an integer"},
  };
  for (const BadConfig& bad : cases) {
    SCOPED_TRACE(bad.more);
    ExpectError(ErrorCode::kInput, std::string("c.json: ") + bad.message, [&] { Parse(bad.more); });
  }
}

TEST(ConfigJson, RefusesWhatIsNotAnObject) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "c.json: byte 1: not valid JSON"},
      {R"({"hidden_size": 64,)", "c.json: byte 20: not valid JSON"},
      {"{\"hidden_size\": \"\xff\"}", "c.json: byte 18: not valid JSON"},
      {R"({"rope_theta": 1e999})", "c.json: not valid JSON: a number is out of range"},
      {"[]", "c.json: not a JSON object"},
      {"null", "c.json: not a JSON object"},
      {"{}", "c.json: architectures: missing"},
  };
  for (const auto& [text, message] : cases) {
    SCOPED_TRACE(text);
    ExpectError(ErrorCode::kInput, message, [&] { ParseConfigJson(text, "c.json"); });
  }
}

TEST(ConfigJson, SurvivesDeepNesting) {
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  for (const char* field : {"architectures", "hidden_size", "eos_token_id", "layer_types"}) {
    EXPECT_THROW(Parse('"' + std::string(field) + "\": " + deep), Error) << field;
  }
}

TEST(ConfigJson, ReadsFiles) {
  const TempDir dir;
  const std::string file = dir.Write("config.json", Config(""));
  EXPECT_EQ(ReadConfigJson(file).hidden_size, 64);
  dir.Write("config.json", "{");
  ExpectError(ErrorCode::kInput, file + ": byte 2: not valid JSON", [&] { ReadConfigJson(file); });
  const std::string missing = dir.File("none.json");
  ExpectError(ErrorCode::kInput, missing + ": cannot be read", [&] { ReadConfigJson(missing); });
  ExpectError(ErrorCode::kInput, dir.path() + ": cannot be read",
              [&] { ReadConfigJson(dir.path()); });
}

}  // namespace
}  // namespace detcheck
