#include "engine/embedded/embedded_backend.h"

#include <cctype>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "engine/base/error.h"
#include "engine/embedded/embedded_support.h"
#include "engine/embedded/synthetic_text.h"
#include "engine/embedded/weights_dtype.h"

namespace detcheck {
namespace {

const char* ArchitectureName(Architecture architecture) {
  return architecture == Architecture::kLlama ? "llama" : "qwen3";
}

/// Of what the logits of a position do not depend, in deterministic mode.
constexpr char kClaimed[] =
    "bitwise, whatever the batch, arrival, chunks, prefix cache, page placement, preemption, "
    "threads and restarts; prefill as decode";

std::string UpperCase(std::string word) {
  for (char& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return word;
}

const char* OnOff(bool on) {
  return on ? "on" : "off";
}

bool IsSynthetic(const std::string& model) {
  return std::string_view(model).starts_with("synthetic:");
}

std::optional<Tokenizer> FindTokenizer(const std::string& model) {
  const std::string path = model + "/tokenizer.json";
  std::error_code ignored;
  if (IsSynthetic(model) || !std::filesystem::exists(path, ignored)) return std::nullopt;
  return Tokenizer::Read(path);
}

}  // namespace

EmbeddedBackend::EmbeddedBackend(const EngineOptions& options, EngineDevice device)
    : options_(ForDevice(device, options)),
      device_(std::move(device)),
      tokenizer_(FindTokenizer(options_.model)),
      engine_(std::make_unique<Engine>(options_, device_)) {}

Description EmbeddedBackend::Describe() {
  const char* mode = options_.deterministic ? "deterministic" : "default mode";
  return {.engine = "detcheck " + UpperCase(device_.name) + " engine, " + mode + ", " +
                    engine().config().name,
          .facts = Facts(),
          .subject = Subject()};
}

BatchResult EmbeddedBackend::Complete(const std::vector<BatchItem>& items,
                                      const std::atomic<bool>& stop,
                                      const TokenCallback& on_token) {
  BatchResult result = engine().Run(items, stop, on_token);
  for (Completion& completion : result.completions) {
    completion.text = TextOf(completion.token_ids);
  }
  return result;
}

std::vector<TokenLogprob> EmbeddedBackend::Score(const std::vector<TokenId>& ids,
                                                 int top_logprobs) {
  return engine().Score(ids, top_logprobs);
}

FlushResult EmbeddedBackend::Flush() {
  return engine().Flush();
}

void EmbeddedBackend::Restart() {
  engine_.reset();  // Before the new one, so that the weights are not held twice.
  engine_ = std::make_unique<Engine>(options_, device_);
}

Engine& EmbeddedBackend::engine() {
  if (!engine_) throw Error(ErrorCode::kTarget, "the engine is down: its restart failed");
  return *engine_;
}

std::optional<std::string> EmbeddedBackend::TextOf(const std::vector<TokenId>& ids) const {
  if (IsSynthetic(options_.model)) return DecodeSynthetic(ids);
  if (!tokenizer_) return std::nullopt;
  return tokenizer_->Decode(ids, Tokenizer::SpecialText::kLeaveOut);
}

TargetFacts EmbeddedBackend::Facts() {
  Capabilities capabilities = EmbeddedCapabilities(options_);
  capabilities.text = IsSynthetic(options_.model) || tokenizer_;
  return {.page_size = options_.page_size,
          .chunk_size = options_.chunked_prefill_size,
          .max_running_requests = options_.max_running_requests,
          .kv_pool_tokens = engine().kv_pool_tokens(),
          .context_len = engine().config().context_len,
          .vocab_size = engine().config().vocab_size,
          .capabilities = capabilities};
}

Manifest EmbeddedBackend::Subject() {
  const ModelConfig& config = engine().config();
  Manifest manifest;
  const auto add = [&manifest](const char* name, std::string value) {
    manifest.push_back({name, std::move(value), FieldSource::kObserved});
  };
  add("engine.name", "detcheck-" + device_.name);
  add("engine.version", DETCHECK_VERSION);
  add("engine.mode", options_.deterministic ? "deterministic" : "default");
  manifest.push_back({"engine.determinism_claimed", options_.deterministic ? kClaimed : "none",
                      FieldSource::kClaimed});
  add("engine.attention_backend", options_.attention_backend);
  add("engine.cuda_graph", OnOff(options_.cuda_graph && device_.name == "cuda"));
  add("engine.radix_cache", OnOff(options_.radix_cache));
  add("engine.page_size", std::to_string(options_.page_size));
  add("engine.chunked_prefill_size", std::to_string(options_.chunked_prefill_size));
  add("engine.max_running_requests", std::to_string(options_.max_running_requests));
  add("engine.kv_pool_tokens", std::to_string(engine().kv_pool_tokens()));
  add("engine.kv_cache_dtype", DTypeName(config.dtype));
  add("engine.schedule_policy", "fcfs");
  add("engine.speculative_decoding", "off");
  for (const char* size : {"tp_size", "pp_size", "dp_size", "ep_size"}) {
    add((std::string("parallelism.") + size).c_str(), "1");
  }
  add("model.name", config.name);
  add("model.architecture", ArchitectureName(config.architecture));
  add("model.dtype", DTypeName(config.dtype));
  add("model.quantization", "none");
  add("model.context_len", std::to_string(config.context_len));
  add("model.vocab_size", std::to_string(config.vocab_size));
  for (ManifestField& field : engine().Describe()) manifest.push_back(std::move(field));
  return manifest;
}

}  // namespace detcheck
