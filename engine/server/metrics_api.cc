#include "engine/server/metrics_api.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "engine/embedded/weights_dtype.h"

namespace detcheck {
namespace {

/// A value as Prometheus' own client writes it: "1.0".
std::string Number(double value) {
  return nlohmann::json(value).dump();
}

std::string Quoted(const std::string& text) {
  return nlohmann::json(text).dump();
}

/// A page of metrics that all have the same labels.
class Page {
 public:
  /// `labels`: "a="x",b="y"".
  explicit Page(std::string labels) : labels_(std::move(labels)) {}

  void Gauge(std::string_view name, std::string_view help, double value) {
    Head(name, "gauge", help);
    Sample(name, labels_, value);
  }
  void Count(std::string_view name, std::string_view help, int64_t value) {
    Head(name, "counter", help);
    Sample(name, labels_, static_cast<double>(value));
  }
  void Steps(const std::string& name, std::string_view help, const IterationTokens& tokens) {
    Head(name, "histogram", help);
    const auto bucket = [&](const std::string& bound, int64_t value) {
      Sample(name + "_bucket", labels_ + ",le=\"" + bound + '"', static_cast<double>(value));
    };
    for (size_t i = 0; i < IterationTokens::kBounds.size(); ++i) {
      bucket(Number(IterationTokens::kBounds[i]), tokens.AtMost(i));
    }
    bucket("+Inf", tokens.num_steps());
    Sample(name + "_count", labels_, static_cast<double>(tokens.num_steps()));
    Sample(name + "_sum", labels_, static_cast<double>(tokens.sum()));
  }
  /// A gauge that is 1 and says something by its labels.
  void Info(std::string_view name, std::string_view help, const std::string& labels) {
    Head(name, "gauge", help);
    Sample(name, labels, 1.0);
  }

  const std::string& text() const { return text_; }

 private:
  void Head(std::string_view name, std::string_view type, std::string_view help) {
    text_.append("# HELP ").append(name).append(" ").append(help);
    text_.append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
  }
  void Sample(std::string_view name, const std::string& labels, double value) {
    text_.append(name);
    if (!labels.empty()) text_ += '{' + labels + '}';
    text_ += ' ' + Number(value) + '\n';
  }

  const std::string labels_;
  std::string text_;
};

std::string SglangMetrics(const ServedModel& model, const LoopCounters& now) {
  Page page("model_name=" + Quoted(model.name));
  const double used = now.num_used_tokens;
  page.Gauge("sglang:num_running_reqs", "Requests in the running batch.", now.num_running);
  page.Gauge("sglang:num_queue_reqs", "Requests that wait.", now.num_waiting);
  page.Gauge("sglang:num_used_tokens", "Tokens of the KV pool that requests hold.", used);
  page.Gauge("sglang:token_usage", "The same as a part of the pool.",
             used / model.engine->kv_pool_tokens());
  page.Count("sglang:num_requests_total", "Requests taken.", now.num_requests);
  page.Count("sglang:num_aborted_requests_total", "Requests cancelled.", now.num_aborted);
  page.Count("sglang:prompt_tokens_total", "Prompt tokens of all requests.", now.prompt_tokens);
  page.Count("sglang:generation_tokens_total", "Tokens generated.", now.generated_tokens);
  page.Count("sglang:cached_tokens_total", "Prompt tokens out of the prefix cache.",
             now.cached_tokens);
  return page.text();
}

std::string VllmMetrics(const ServedModel& model, const LoopCounters& now) {
  Page page("engine=\"0\",model_name=" + Quoted(model.name));
  const EngineOptions& options = model.options;
  const int pool_tokens = model.engine->kv_pool_tokens();
  page.Gauge("vllm:num_requests_running", "Requests in the running batch.", now.num_running);
  page.Gauge("vllm:num_requests_waiting", "Requests that wait.", now.num_waiting);
  page.Gauge("vllm:kv_cache_usage_perc", "Used part of the KV pool, 0 to 1.",
             static_cast<double>(now.num_used_tokens) / pool_tokens);
  page.Count("vllm:prefix_cache_queries_total", "Prompt tokens of all requests.",
             now.prompt_tokens);
  page.Count("vllm:prefix_cache_hits_total", "Of these, out of the prefix cache.",
             now.cached_tokens);
  page.Count("vllm:num_preemptions_total", "Preemptions.", now.preemptions);
  page.Count("vllm:prompt_tokens_total", "Prompt tokens of all requests.", now.prompt_tokens);
  page.Count("vllm:generation_tokens_total", "Tokens generated.", now.generated_tokens);
  page.Steps("vllm:iteration_tokens_total", "Tokens per engine step.", now.iteration_tokens);
  page.Info("vllm:cache_config_info", "The KV cache.",
            "block_size=\"" + std::to_string(options.page_size) + "\",cache_dtype=\"" +
                DTypeName(model.config().dtype) + "\",enable_prefix_caching=\"" +
                (options.radix_cache ? "True" : "False") + "\",engine=\"0\",num_gpu_blocks=\"" +
                std::to_string(pool_tokens / options.page_size) + '"');
  return page.text();
}

std::string OwnMetrics(const ServedModel& model, const LoopCounters& now) {
  Page page("model_name=" + Quoted(model.name));
  page.Count("detcheck:engine_steps_total", "Engine steps.", now.engine_steps);
  page.Count("detcheck:engine_step_tokens_total", "Tokens computed in them.", now.step_tokens);
  Page process("");
  process.Gauge("process_start_time_seconds", "Start of the server, seconds since 1970.",
                model.started_s);
  return page.text() + process.text();
}

}  // namespace

HttpReply Metrics(const ServedModel& model) {
  const LoopCounters now = model.loop->counters();
  HttpReply reply;
  reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
  reply.body = SglangMetrics(model, now) + VllmMetrics(model, now) + OwnMetrics(model, now);
  return reply;
}

}  // namespace detcheck
