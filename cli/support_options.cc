#include "cli/support_options.h"

#include <fmt/format.h>

#include <string>

#include "cli/number.h"
#include "engine/base/error.h"
#include "fixtures/file_io.h"

namespace detcheck {
namespace {

constexpr int64_t kMostRanks = 65536;

void Declare(const std::string& field, const std::string& value, SupportQuery* query) {
  query->declared.push_back({field, value, FieldSource::kDeclared});
  if (field != "engine.name" && field != "engine.version") query->is_combination = true;
}

void AddText(OptionAdder* add, const char* name, const char* type, const char* field,
             const char* help, SupportQuery* query) {
  add->Value(name, type, "", help, [=](const std::string& text) { Declare(field, text, query); });
}

void AddSwitch(OptionAdder* add, const char* name, const char* field, const char* help,
               SupportQuery* query) {
  add->Value(name, "on|off", "", help, [=](const std::string& text) {
    if (text != "on" && text != "off") {
      throw Error(ErrorCode::kUsage, fmt::format("{} {}: not one of on|off", name, OneLine(text)));
    }
    Declare(field, text, query);
  });
}

void AddSize(OptionAdder* add, const char* name, const char* field, const char* help,
             SupportQuery* query) {
  add->Value(name, "N", "", help, [=](const std::string& text) {
    Declare(field, fmt::format("{}", ParseWhole(name, text, 1, kMostRanks)), query);
  });
}

}  // namespace

void AddSupportOptions(OptionAdder* add, SupportQuery* query) {
  add->BeginGroup("Engine (none: all of them)");
  AddText(add, "--engine-name", "NAME", "engine.name", "sglang, vllm, detcheck-cpu", query);
  AddText(add, "--engine-version", "RELEASE", "engine.version", "such as 0.5.6", query);
  add->BeginGroup("Combination to look up (none: the table). What is not given is not known");
  AddText(add, "--attention-backend", "NAME", "engine.attention_backend", "such as fa3", query);
  AddSwitch(add, "--cuda-graph", "engine.cuda_graph", "CUDA graphs", query);
  AddSwitch(add, "--chunked-prefill", "engine.chunked_prefill_size", "chunked prefill", query);
  AddSwitch(add, "--radix-cache", "engine.radix_cache", "radix (prefix) cache", query);
  AddSwitch(add, "--speculative-decoding", "engine.speculative_decoding", "speculative decoding",
            query);
  AddSize(add, "--tp-size", "parallelism.tp_size", "ranks of tensor parallelism", query);
  AddSize(add, "--pp-size", "parallelism.pp_size", "stages of pipeline parallelism", query);
  AddSize(add, "--dp-size", "parallelism.dp_size", "data-parallel replicas", query);
  AddSize(add, "--ep-size", "parallelism.ep_size", "ranks of expert parallelism", query);
  add->Flag("--non-greedy", "sampling at a temperature above 0; greedy without it",
            [=] { query->non_greedy = query->is_combination = true; });
  add->Flag("--default-mode", "without the engine's deterministic mode; with it otherwise",
            [=] { Declare("engine.mode", "default", query); });
  add->BeginGroup("Output", OptionAdder::Noted::kNo);
  add->Flag("--json", "the answer to a combination as JSON", [=] { query->json = true; });
}

}  // namespace detcheck
