#include "engine/embedded/embedded_backend.h"

#include <cctype>
#include <string_view>
#include <utility>

#include "engine/base/error.h"
#include "engine/embedded/synthetic_text.h"
#include "engine/embedded/weights_dtype.h"

namespace detcheck {
namespace {

const char* ArchitectureName(Architecture architecture) {
  return architecture == Architecture::kLlama ? "llama" : "qwen3";
}

std::string UpperCase(std::string word) {
  for (char& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return word;
}

const char* OnOff(bool on) {
  return on ? "on" : "off";
}

}  // namespace

EmbeddedBackend::EmbeddedBackend(const EngineOptions& options, OpsFactory make_ops,
                                 std::string device)
    : options_(options),
      make_ops_(std::move(make_ops)),
      device_(std::move(device)),
      engine_(std::make_unique<Engine>(options_, make_ops_)) {}

Description EmbeddedBackend::Describe() {
  const char* mode = options_.deterministic ? "deterministic" : "default mode";
  return {.engine =
              "detcheck " + UpperCase(device_) + " engine, " + mode + ", " + engine().config().name,
          .facts = Facts(),
          .subject = Subject()};
}

BatchResult EmbeddedBackend::Complete(const std::vector<BatchItem>& items,
                                      const std::atomic<bool>& stop,
                                      const TokenCallback& on_token) {
  BatchResult result = engine().Run(items, stop, on_token);
  if (synthetic()) {
    for (Completion& completion : result.completions) {
      completion.text = DecodeSynthetic(completion.token_ids);
    }
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
  engine_ = std::make_unique<Engine>(options_, make_ops_);
}

Engine& EmbeddedBackend::engine() {
  if (!engine_) throw Error(ErrorCode::kTarget, "the engine is down: its restart failed");
  return *engine_;
}

bool EmbeddedBackend::synthetic() const {
  return std::string_view(options_.model).starts_with("synthetic:");
}

TargetFacts EmbeddedBackend::Facts() {
  const Capabilities capabilities{.ids_in = true,
                                  .ids_out = true,
                                  .logprobs = true,
                                  .top_ids = true,
                                  .prompt_logprobs = true,
                                  .seed = true,
                                  .ignore_eos = true,
                                  .stream = false,
                                  .abort = true,
                                  .engine_step_release = true,
                                  .cached_tokens = true,
                                  .cache_bypass = true,
                                  .flush = true,
                                  .restart = true,
                                  .batch_witness = true,
                                  .text = synthetic(),
                                  .prefix_cache = options_.radix_cache};
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
  add("engine.name", "detcheck-" + device_);
  add("engine.version", DETCHECK_VERSION);
  add("engine.mode", options_.deterministic ? "deterministic" : "default");
  add("engine.attention_backend", options_.attention_backend);
  add("engine.radix_cache", OnOff(options_.radix_cache));
  add("engine.page_size", std::to_string(options_.page_size));
  add("engine.chunked_prefill_size", std::to_string(options_.chunked_prefill_size));
  add("engine.max_running_requests", std::to_string(options_.max_running_requests));
  add("engine.kv_pool_tokens", std::to_string(engine().kv_pool_tokens()));
  add("model.name", config.name);
  add("model.architecture", ArchitectureName(config.architecture));
  add("model.dtype", DTypeName(config.dtype));
  add("model.context_len", std::to_string(config.context_len));
  add("model.vocab_size", std::to_string(config.vocab_size));
  for (ManifestField& field : engine().Describe()) manifest.push_back(std::move(field));
  return manifest;
}

}  // namespace detcheck
