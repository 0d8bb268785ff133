#include "cli/target_options.h"

#include <optional>
#include <string>

#include "cli/remote_options.h"

namespace detcheck {
namespace {

constexpr int64_t kMostTokens = 1 << 24;

void AddEngineOptions(OptionAdder* add, EngineOptions* engine) {
  add->Path(
      "--model", "DIR|synthetic:NAME", engine->model,
      "Hugging Face directory, or synthetic: tiny, tiny-qwen3,\nqwen3-0.6b, qwen3-8b, llama-3.1-8b",
      [=](const std::string& text) { engine->model = text; });
  add->Flag("--enable-deterministic-inference", "the engine's deterministic mode; off without it",
            [=] { engine->deterministic = true; });
  add->Value("--attention-backend", "NAME", engine->attention_backend,
             "attention kernels; CUDA: flash or reference",
             [=](const std::string& text) { engine->attention_backend = text; });
  add->Word<std::optional<DType>>(
      "--dtype", &engine->dtype,
      {{"bf16", DType::kBf16}, {"f16", DType::kF16}, {"f32", DType::kF32}}, "the model's",
      "type of weights, activations and KV cache");
  add->Whole("--threads", &engine->num_threads, 1, 1024, "all cores", "threads of the CPU engine");
  add->Flag("--disable-radix-cache", "no prefix cache; on without it",
            [=] { engine->radix_cache = false; });
  add->Flag("--disable-cuda-graph", "decode steps queued call by call; CUDA graphs without it",
            [=] { engine->cuda_graph = false; });
  add->Whole("--page-size", &engine->page_size, 1, 4096, std::to_string(engine->page_size),
             "tokens of a KV page");
  add->Whole("--chunked-prefill-size", &engine->chunked_prefill_size, 1, 65536,
             std::to_string(engine->chunked_prefill_size), "most prefill tokens in an engine step");
  add->Whole("--max-running-requests", &engine->max_running_requests, 1, 4096,
             std::to_string(engine->max_running_requests), "most requests in an engine step");
  add->Whole("--max-total-tokens", &engine->max_total_tokens, 1, kMostTokens, "the model's",
             "KV pool, in tokens");
  add->Seed("--random-seed", &engine->random_seed, "of the weights of synthetic models");
}

}  // namespace

void AddEmbeddedTarget(OptionAdder* add, TargetOptions* target) {
  add->BeginGroup("Target");
  add->Word<std::string>("--engine", &target->engine,
                         {{"auto", "auto"}, {"cpu", "cpu"}, {"cuda", "cuda"}}, target->engine,
                         "auto: the best that works here");
  AddEngineOptions(add, &target->embedded);
}

void AddTargetOptions(OptionAdder* add, TargetOptions* target) {
  AddEmbeddedTarget(add, target);
  AddRemoteOptions(add, &target->remote, "test the server there instead of the embedded engine",
                   &target->replicas);
  AddAnsweringServerOptions(add, &target->remote);
}

}  // namespace detcheck
