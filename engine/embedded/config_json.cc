#include "engine/embedded/config_json.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "engine/base/error.h"

namespace detcheck {
namespace {

using Json = nlohmann::json;

// Bounds that no model reaches and within which no product of sizes overflows.
constexpr int kMaxWidth = 1 << 20;
constexpr int kMaxHeads = 1 << 10;
constexpr int kMaxHeadDim = 1 << 10;
constexpr int kMaxLayers = 1 << 12;
constexpr int kMaxVocab = 1 << 24;
constexpr int kMaxContext = 1 << 28;

/// A value as it stands in the file, shortened to fit one line of a message.
std::string Shown(const Json& value) {
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > 60) text.replace(57, std::string::npos, "...");
  return text;
}

/// One JSON object of the file. Null fields count as absent.
class Fields {
 public:
  Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {}

  [[noreturn]] void Fail(const std::string& field, const std::string& fact) const {
    throw Error(ErrorCode::kInput, where_ + field + ": " + fact);
  }

  const Json* Find(const char* field) const {
    const auto found = object_.find(field);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  std::optional<int> OptionalInt(const char* field, int max) const {
    const Json* value = Find(field);
    if (!value) return std::nullopt;
    if (!value->is_number_integer()) Fail(field, Shown(*value) + " is not an integer");
    const bool fits = *value >= 1 && *value <= max;
    if (!fits) Fail(field, Shown(*value) + " is not in 1 .. " + std::to_string(max));
    return value->get<int>();
  }

  int Int(const char* field, int max) const {
    const std::optional<int> value = OptionalInt(field, max);
    if (!value) Fail(field, "missing");
    return *value;
  }

  std::optional<double> OptionalPositive(const char* field) const {
    const Json* value = Find(field);
    if (!value) return std::nullopt;
    if (!value->is_number()) Fail(field, Shown(*value) + " is not a number");
    const double number = value->get<double>();
    if (!(number > 0.0 && std::isfinite(number))) {
      Fail(field, Shown(*value) + " is not a positive number");
    }
    return number;
  }

  double Positive(const char* field) const {
    const std::optional<double> value = OptionalPositive(field);
    if (!value) Fail(field, "missing");
    return *value;
  }

  bool Bool(const char* field, bool absent) const {
    const Json* value = Find(field);
    if (!value) return absent;
    if (!value->is_boolean()) Fail(field, Shown(*value) + " is not true or false");
    return value->get<bool>();
  }

  std::optional<std::string> OptionalString(const char* field) const {
    const Json* value = Find(field);
    if (!value) return std::nullopt;
    if (!value->is_string()) Fail(field, Shown(*value) + " is not a string");
    return value->get<std::string>();
  }

  /// The object at `field`, or null where it is absent.
  std::optional<Fields> OptionalObject(const char* field) const {
    const Json* value = Find(field);
    if (!value) return std::nullopt;
    if (!value->is_object()) Fail(field, Shown(*value) + " is not an object");
    return Fields(*value, where_ + field + ".");
  }

 private:
  const Json& object_;
  std::string where_;  ///< "FILE: ", or "FILE: FIELD." for an object in it.
};

Architecture ReadArchitecture(const Fields& fields) {
  const Json* names = fields.Find("architectures");
  if (!names) fields.Fail("architectures", "missing");
  if (!names->is_array() || names->size() != 1) {
    fields.Fail("architectures", "not a list of one name");
  }
  const Json& name = names->front();
  if (name == "LlamaForCausalLM") return Architecture::kLlama;
  if (name == "Qwen3ForCausalLM") return Architecture::kQwen3;
  fields.Fail("architectures",
              Shown(name) + " is not supported; LlamaForCausalLM and Qwen3ForCausalLM are");
}

/// Refuses what would change the result and is not computed.
void RefuseUnsupported(const Fields& fields) {
  const Json* activation = fields.Find("hidden_act");
  if (activation && *activation != "silu") {
    fields.Fail("hidden_act", Shown(*activation) + " is not silu");
  }
  for (const char* field : {"attention_bias", "mlp_bias", "use_sliding_window"}) {
    if (fields.Bool(field, false)) fields.Fail(field, "true is not supported");
  }
  if (fields.Find("quantization_config")) {
    fields.Fail("quantization_config", "quantised weights are not supported");
  }
  if (fields.OptionalPositive("partial_rotary_factor").value_or(1.0) != 1.0) {
    fields.Fail("partial_rotary_factor", "a factor other than 1 is not supported");
  }
  const Json* layer_types = fields.Find("layer_types");
  if (!layer_types) return;
  if (!layer_types->is_array()) fields.Fail("layer_types", "not a list");
  for (const Json& type : *layer_types) {
    if (type != "full_attention") fields.Fail("layer_types", Shown(type) + " is not supported");
  }
}

void ReadSizes(const Fields& fields, ModelConfig* config) {
  config->num_layers = fields.Int("num_hidden_layers", kMaxLayers);
  config->hidden_size = fields.Int("hidden_size", kMaxWidth);
  config->intermediate_size = fields.Int("intermediate_size", kMaxWidth);
  config->vocab_size = fields.Int("vocab_size", kMaxVocab);
  config->context_len = fields.Int("max_position_embeddings", kMaxContext);
  config->num_heads = fields.Int("num_attention_heads", kMaxHeads);

  const int heads = config->num_heads;
  config->num_kv_heads = fields.OptionalInt("num_key_value_heads", kMaxHeads).value_or(heads);
  if (heads % config->num_kv_heads != 0) {
    fields.Fail("num_key_value_heads", std::to_string(config->num_kv_heads) +
                                           " does not divide num_attention_heads " +
                                           std::to_string(heads));
  }
  const std::optional<int> head_dim = fields.OptionalInt("head_dim", kMaxHeadDim);
  const bool divides = config->hidden_size % heads == 0;
  if (!head_dim && config->architecture == Architecture::kLlama && !divides) {
    fields.Fail("head_dim", "missing, and num_attention_heads " + std::to_string(heads) +
                                " does not divide hidden_size " +
                                std::to_string(config->hidden_size));
  }
  const int default_dim =
      config->architecture == Architecture::kQwen3 ? 128 : config->hidden_size / heads;
  config->head_dim = head_dim.value_or(default_dim);
  if (config->head_dim % 2 != 0 || config->head_dim > kMaxHeadDim) {
    fields.Fail("head_dim", std::to_string(config->head_dim) + " is not an even number in 2 .. " +
                                std::to_string(kMaxHeadDim));
  }
}

/// `rope` is rope_scaling (transformers 4) or rope_parameters (5).
std::optional<Llama3RopeScaling> ReadRopeScaling(const Fields& rope) {
  const std::optional<std::string> type = rope.OptionalString("rope_type");
  const std::string kind = type ? *type : rope.OptionalString("type").value_or("default");
  if (kind == "default") return std::nullopt;
  if (kind != "llama3") {
    rope.Fail(type ? "rope_type" : "type",
              Shown(kind) + " is not supported; llama3 and default are");
  }
  const Llama3RopeScaling scaling{.factor = rope.Positive("factor"),
                                  .low_freq_factor = rope.Positive("low_freq_factor"),
                                  .high_freq_factor = rope.Positive("high_freq_factor"),
                                  .original_max_position_embeddings =
                                      rope.Int("original_max_position_embeddings", kMaxContext)};
  if (scaling.high_freq_factor <= scaling.low_freq_factor) {
    rope.Fail("high_freq_factor", "not above low_freq_factor");
  }
  return scaling;
}

void ReadRope(const Fields& fields, ModelConfig* config) {
  std::optional<double> theta = fields.OptionalPositive("rope_theta");
  if (const std::optional<Fields> parameters = fields.OptionalObject("rope_parameters")) {
    if (fields.Find("rope_scaling")) fields.Fail("rope_scaling", "given beside rope_parameters");
    const std::optional<double> nested = parameters->OptionalPositive("rope_theta");
    if (theta && nested && *theta != *nested) {
      fields.Fail("rope_theta", "differs from rope_parameters.rope_theta");
    }
    if (nested) theta = nested;
    config->rope_scaling = ReadRopeScaling(*parameters);
  } else if (const std::optional<Fields> scaling = fields.OptionalObject("rope_scaling")) {
    config->rope_scaling = ReadRopeScaling(*scaling);
  }
  config->rope_theta = theta.value_or(10000.0);
}

DType ReadDType(const Fields& fields) {
  for (const char* field : {"dtype", "torch_dtype"}) {
    const std::optional<std::string> name = fields.OptionalString(field);
    if (!name) continue;
    if (*name == "bfloat16") return DType::kBf16;
    if (*name == "float16") return DType::kF16;
    if (*name == "float32") return DType::kF32;
    fields.Fail(field, Shown(*name) + " is not bfloat16, float16 or float32");
  }
  return DType::kF32;
}

TokenId ReadEosId(const Fields& fields, const Json& id, int vocab_size) {
  if (!id.is_number_integer()) fields.Fail("eos_token_id", Shown(id) + " is not an integer");
  const bool in_vocab = id >= 0 && id < vocab_size;
  if (in_vocab) return id.get<TokenId>();
  fields.Fail("eos_token_id", Shown(id) + " is not in 0 .. " + std::to_string(vocab_size - 1));
}

std::vector<TokenId> ReadEosIds(const Fields& fields, int vocab_size) {
  const Json* value = fields.Find("eos_token_id");
  if (!value) return {};
  if (!value->is_array()) return {ReadEosId(fields, *value, vocab_size)};
  std::vector<TokenId> ids;
  for (const Json& id : *value) ids.push_back(ReadEosId(fields, id, vocab_size));
  return ids;
}

Json ParseJson(std::string_view text, const std::string& file) {
  try {
    Json json = Json::parse(text);
    if (json.is_object()) return json;
  } catch (const Json::parse_error& error) {
    throw Error(ErrorCode::kInput,
                file + ": byte " + std::to_string(error.byte) + ": not valid JSON");
  } catch (const Json::exception&) {
    throw Error(ErrorCode::kInput, file + ": not valid JSON: a number is out of range");
  }
  throw Error(ErrorCode::kInput, file + ": not a JSON object");
}

}  // namespace

ModelConfig ParseConfigJson(std::string_view text, const std::string& file) {
  const Json json = ParseJson(text, file);
  const Fields fields(json, file + ": ");
  ModelConfig config;
  config.architecture = ReadArchitecture(fields);
  RefuseUnsupported(fields);
  ReadSizes(fields, &config);
  ReadRope(fields, &config);
  const double eps = fields.OptionalPositive("rms_norm_eps").value_or(1e-6);
  if (eps > 1.0) fields.Fail("rms_norm_eps", "above 1");
  config.rms_norm_eps = static_cast<float>(eps);
  config.qk_norm = config.architecture == Architecture::kQwen3;
  config.tie_word_embeddings = fields.Bool("tie_word_embeddings", false);
  config.dtype = ReadDType(fields);
  config.eos_ids = ReadEosIds(fields, config.vocab_size);
  return config;
}

ModelConfig ReadConfigJson(const std::string& file) {
  std::error_code error;
  const uintmax_t num_bytes = std::filesystem::file_size(file, error);
  std::ifstream stream(file, std::ios::binary);
  if (error || !stream) throw Error(ErrorCode::kInput, file + ": cannot be read");
  std::string text(num_bytes, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(num_bytes));
  if (!stream) throw Error(ErrorCode::kInput, file + ": cannot be read");
  return ParseConfigJson(text, file);
}

}  // namespace detcheck
