#include "engine/remote/sglang_claims.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/remote/claims.h"

namespace detcheck {
namespace {

/// Launch arguments that change answers and have no field of their own.
const std::vector<std::string_view> kArguments = {"prefill_attention_backend",
                                                  "decode_attention_backend",
                                                  "rl_on_policy_target",
                                                  "random_seed",
                                                  "load_format",
                                                  "max_prefill_tokens",
                                                  "enable_mixed_chunk",
                                                  "cuda_graph_max_bs",
                                                  "disable_overlap_schedule",
                                                  "enable_dp_attention",
                                                  "disable_custom_all_reduce",
                                                  "enable_flashinfer_allreduce_fusion",
                                                  "flashinfer_allreduce_fusion_backend",
                                                  "moe_runner_backend",
                                                  "disable_flashinfer_autotune",
                                                  "triton_attention_split_tile_size",
                                                  "enable_hierarchical_cache"};

/// The reply of the first of two spellings that is there.
Reply GetEither(ServerCalls* server, const char* now, const char* before) {
  Reply reply = server->Get(now);
  return reply.Missing() ? server->Get(before) : reply;
}

void ClaimMode(const JsonNode& info, Claims* claims) {
  const JsonNode* flag = info.Find("enable_deterministic_inference");
  const auto on = flag == nullptr ? std::nullopt : flag->Bool();
  if (!on) return;
  claims->Add("engine.mode", *on ? "deterministic" : "default");
  claims->Add("engine.determinism_claimed", *on ? "enable_deterministic_inference is set" : "none");
}

void ClaimOrNone(const JsonNode& info, const char* member, const char* field, const char* none,
                 Claims* claims) {
  const JsonNode* value = info.Find(member);
  if (value != nullptr) claims->Add(field, value->IsNull() ? none : ClaimText(value));
}

void ClaimServerInfo(const JsonNode& info, Claims* claims) {
  claims->Add("engine.version", info.Find("version"));
  ClaimMode(info, claims);
  claims->Add("engine.attention_backend", info.Find("attention_backend"));
  claims->Add("engine.sampling_backend", info.Find("sampling_backend"));
  claims->AddOffWhere("engine.radix_cache", info.Find("disable_radix_cache"));
  claims->Add("engine.page_size", info.Find("page_size"));
  claims->Add("engine.chunked_prefill_size", info.Find("chunked_prefill_size"));
  claims->Add("engine.max_running_requests", info.Find("max_running_requests"));
  claims->Add("engine.kv_pool_tokens", info.Find("max_total_num_tokens"));
  claims->Add("engine.kv_cache_dtype", info.Find("kv_cache_dtype"));
  claims->AddOffWhere("engine.cuda_graph", info.Find("disable_cuda_graph"));
  claims->Add("engine.schedule_policy", info.Find("schedule_policy"));
  ClaimOrNone(info, "speculative_algorithm", "engine.speculative_decoding", "off", claims);
  claims->AddArguments(info, kArguments);
  for (const char* size : {"tp_size", "pp_size", "dp_size", "ep_size"}) {
    claims->Add("parallelism." + std::string(size), info.Find(size));
  }
  if (const JsonNode* path = info.Find("model_path")) {
    claims->AddModel(path->String().value_or(""));
  }
  claims->Add("model.revision", info.Find("revision"));
  claims->Add("model.dtype", info.Find("dtype"));
  ClaimOrNone(info, "quantization", "model.quantization", "none", claims);
}

/// Of /v1/models.
std::optional<int> ClaimContext(ServerCalls* server, Claims* claims) {
  const Reply models = server->Get("/v1/models");
  const JsonNode* data = models.root.Find("data");
  if (data == nullptr || data->items().empty()) return std::nullopt;
  const auto len = ClaimedInt(data->items().front().Find("max_model_len"));
  claims->Add("model.context_len", len);
  return len;
}

/// Finds where the load is told; /v1/loads is the only place that names the GPU, too.
std::string FindLoad(ServerCalls* server, Claims* claims) {
  constexpr char kLoads[] = "/v1/loads?include=core";
  const Reply loads = server->Get(kLoads);
  if (loads.Ok() && ReadSglangLoad(loads.body).running) {
    claims->Add("device.gpu_name", loads.root.Find("accelerator"));
    claims->Add("device.gpu_count", loads.root.Find("num_accelerators"));
    return kLoads;
  }
  const Reply load = server->Get("/get_load");
  return load.Ok() && ReadSglangLoad(load.body).running ? "/get_load" : "";
}

Capabilities CapabilitiesOf(const JsonNode& info, bool has_load) {
  const auto flag = [&info](const char* name) {
    const JsonNode* node = info.Find(name);
    return node == nullptr ? std::nullopt : node->Bool();
  };
  Capabilities can;
  can.ids_in = can.ids_out = can.logprobs = can.top_ids = can.prompt_logprobs = true;
  can.ignore_eos = can.stream = can.abort = can.cached_tokens = can.text = true;
  can.flush = can.cache_bypass = true;
  // Outside the deterministic mode seeds are not looked at.
  can.seed = flag("enable_deterministic_inference").value_or(true);
  can.prefix_cache = !flag("disable_radix_cache").value_or(false);
  can.batch_witness = has_load;
  return can;
}

}  // namespace

Reply GetSglangInfo(ServerCalls* server) {
  return GetEither(server, "/server_info", "/get_server_info");
}

bool IsSglangInfo(const Reply& info) {
  return info.Ok() && info.root.Find("disable_radix_cache") != nullptr;
}

SglangSurvey SurveySglang(ServerCalls* server) {
  const Reply info = GetSglangInfo(server);
  if (!IsSglangInfo(info)) {
    throw Error(ErrorCode::kTarget,
                server->endpoint().label +
                    ": not an SGLang server: neither /server_info nor /get_server_info tells its "
                    "arguments" +
                    (info.Ok() ? "" : " (" + info.error + ")"));
  }
  SglangSurvey survey;
  Claims claims;
  claims.Add("engine.name", "sglang");
  ClaimServerInfo(info.root, &claims);
  const Reply model = GetEither(server, "/model_info", "/get_model_info");
  claims.Add("model.weight_version", model.root.Find("weight_version"));
  if (const JsonNode* list = model.root.Find("architectures"); list && !list->items().empty()) {
    claims.Add("model.architecture", &list->items().front());
  }
  TargetFacts& facts = survey.claims.facts;
  facts.context_len = ClaimContext(server, &claims);
  facts.page_size = ClaimedInt(info.root.Find("page_size"));
  facts.chunk_size = ClaimedInt(info.root.Find("chunked_prefill_size"));
  facts.max_running_requests = ClaimedInt(info.root.Find("max_running_requests"));
  facts.kv_pool_tokens = ClaimedInt(info.root.Find("max_total_num_tokens"));
  survey.load_path = FindLoad(server, &claims);
  facts.capabilities = CapabilitiesOf(info.root, !survey.load_path.empty());
  survey.claims.subject = claims.manifest();
  return survey;
}

LoadSample ReadSglangLoad(const std::string& body) {
  const ParsedJson parsed = ParseJson(body);
  const JsonNode* loads = parsed.root.IsArray() ? &parsed.root : parsed.root.Find("loads");
  LoadSample sample;
  if (loads == nullptr) return sample;
  for (const JsonNode& load : loads->items()) {
    std::optional<int> running = ClaimedInt(load.Find("num_running_reqs"), 0);
    std::optional<int> waiting = ClaimedInt(load.Find("num_waiting_reqs"), 0);
    // /get_load counts the waiting ones among num_reqs.
    const std::optional<int> both = ClaimedInt(load.Find("num_reqs"), 0);
    if (!running && both) running = *both - std::min(*both, waiting.value_or(0));
    if (!running) continue;
    sample.running = std::max(sample.running.value_or(0), *running);
    sample.total = sample.total.value_or(0) + *running + waiting.value_or(0);
  }
  return sample;
}

}  // namespace detcheck
