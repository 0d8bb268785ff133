#include "engine/server/status_api.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "engine/embedded/weights_dtype.h"

namespace detcheck {
namespace {

using json = nlohmann::ordered_json;

/// Longest that a flush waits for the engine to be idle.
constexpr double kMostFlushTimeout = 3600.0;

const char* SourceName(FieldSource source) {
  switch (source) {
    case FieldSource::kObserved:
      return "observed";
    case FieldSource::kClaimed:
      return "claimed";
    case FieldSource::kDeclared:
      return "declared";
    case FieldSource::kUnknown:
      break;
  }
  return "unknown";
}

HttpReply JsonReply(const json& body, int status = 200) {
  HttpReply reply;
  reply.status = status;
  reply.body = body.dump();
  return reply;
}

json LoadJson(const LoopCounters& now, int kv_pool_tokens) {
  return {{"dp_rank", 0},
          {"num_running_reqs", now.num_running},
          {"num_waiting_reqs", now.num_waiting},
          {"num_used_tokens", now.num_used_tokens},
          {"max_total_num_tokens", kv_pool_tokens}};
}

/// What of the options vLLM's interface tells in this place, in its development mode.
json VllmConfig(const ServedModel& model) {
  const EngineOptions& options = model.options;
  return {{"model_config",
           {{"model", model.name},
            {"dtype", std::string("torch.") + DTypeName(model.config().dtype)},
            {"max_model_len", model.config().context_len}}},
          {"cache_config",
           {{"block_size", options.page_size}, {"enable_prefix_caching", options.radix_cache}}},
          {"parallel_config", {{"tensor_parallel_size", 1}, {"pipeline_parallel_size", 1}}},
          {"scheduler_config",
           {{"max_num_batched_tokens", options.chunked_prefill_size},
            {"max_num_seqs", options.max_running_requests}}}};
}

double FlushTimeout(const ServedRequest& http) {
  const auto found = http.query.find("timeout");
  if (found == http.query.end()) return 0.0;
  char* end = nullptr;
  const double seconds = std::strtod(found->second.c_str(), &end);
  const bool whole = !found->second.empty() && *end == '\0';
  if (!whole || !std::isfinite(seconds) || seconds < 0.0 || seconds > kMostFlushTimeout) {
    throw ApiError(400, "timeout is not a number of seconds from 0 to 3600");
  }
  return seconds;
}

}  // namespace

HttpReply ServerInfo(const ServedModel& model) {
  const EngineOptions& options = model.options;
  json body;
  body["version"] = model.version;
  body["model_path"] = model.name;
  body["served_model_name"] = model.name;
  body["tokenizer_path"] = model.codec ? json(model.name) : json();
  body["context_length"] = model.config().context_len;
  body["dtype"] = DTypeName(model.config().dtype);
  body["kv_cache_dtype"] = DTypeName(model.config().dtype);
  body["device"] = model.Field("engine.name").value_or("");
  body["attention_backend"] = options.attention_backend;
  body["sampling_backend"] = model.Field("engine.sampling_backend").value_or("");
  body["enable_deterministic_inference"] = options.deterministic;
  body["random_seed"] = options.random_seed;
  body["disable_radix_cache"] = !options.radix_cache;
  body["page_size"] = options.page_size;
  body["chunked_prefill_size"] = options.chunked_prefill_size;
  body["disable_cuda_graph"] = !options.cuda_graph;
  body["max_running_requests"] = options.max_running_requests;
  body["schedule_policy"] = "fcfs";
  for (const char* size : {"tp_size", "pp_size", "dp_size", "ep_size"}) body[size] = 1;
  body["quantization"] = nullptr;
  body["speculative_algorithm"] = nullptr;
  body["weight_version"] = "default";
  body["max_total_num_tokens"] = model.engine->kv_pool_tokens();
  body["max_req_input_len"] = model.config().context_len - 1;
  body["vocab_size"] = model.config().vocab_size;
  body["vllm_config"] = VllmConfig(model);
  body["internal_states"] =
      json::array({LoadJson(model.loop->counters(), model.engine->kv_pool_tokens())});
  json subject = json::array();
  for (const ManifestField& field : model.description.subject) {
    subject.push_back(
        {{"name", field.name}, {"value", field.value}, {"source", SourceName(field.source)}});
  }
  body["subject"] = std::move(subject);
  return JsonReply(body);
}

HttpReply ModelInfo(const ServedModel& model) {
  const bool is_llama = model.config().architecture == Architecture::kLlama;
  return JsonReply(
      {{"model_path", model.name},
       {"tokenizer_path", model.codec ? json(model.name) : json()},
       {"is_generation", true},
       {"preferred_sampling_params", nullptr},
       {"weight_version", "default"},
       {"has_image_understanding", false},
       {"has_audio_understanding", false},
       {"model_type", is_llama ? "llama" : "qwen3"},
       {"architectures", json::array({is_llama ? "LlamaForCausalLM" : "Qwen3ForCausalLM"})}});
}

HttpReply Loads(const ServedModel& model) {
  const auto now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch());
  return JsonReply(
      {{"timestamp", now.count()},
       {"version", model.version},
       {"accelerator", model.Field("device.gpu_name").value_or("cpu")},
       {"num_accelerators", 1},
       {"loads", json::array({LoadJson(model.loop->counters(), model.engine->kv_pool_tokens())})}});
}

HttpReply Health(const ServedModel& model) {
  const std::string failure = model.loop->failure();
  if (failure.empty()) return {};
  return JsonReply({{"error", {{"message", failure}}}}, 503);
}

HttpReply Version(const ServedModel& model) {
  return JsonReply({{"version", model.version}});
}

HttpReply FlushCache(const ServedModel& model, const ServedRequest& http, const HttpPeer& peer) {
  const std::chrono::duration<double> timeout(FlushTimeout(http));
  const FlushResult result =
      model.loop->Flush(std::chrono::duration_cast<std::chrono::milliseconds>(timeout),
                        [&peer] { return peer.Gone(); });
  HttpReply reply;
  reply.status = result.accepted ? 200 : 400;
  reply.content_type = "text/plain; charset=utf-8";
  reply.body =
      (result.accepted ? "Cache flushed.\n" : "Cache not flushed: ") + result.detail + '\n';
  return reply;
}

}  // namespace detcheck
