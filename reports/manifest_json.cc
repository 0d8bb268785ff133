#include "reports/manifest_json.h"

#include <array>
#include <utility>

#include "fixtures/words.h"
#include "reports/record_json.h"

namespace detcheck {
namespace {

constexpr std::pair<FieldSource, std::string_view> kSourceWordList[] = {
    {FieldSource::kObserved, "observed"},
    {FieldSource::kClaimed, "claimed"},
    {FieldSource::kDeclared, "declared"},
    {FieldSource::kUnknown, "unknown"},
};
constexpr WordTable<FieldSource> kSourceWords = kSourceWordList;

// Alphabetical, as they are written.
constexpr std::pair<std::string_view, bool Capabilities::*> kCapabilities[] = {
    {"abort", &Capabilities::abort},
    {"batch_witness", &Capabilities::batch_witness},
    {"cache_bypass", &Capabilities::cache_bypass},
    {"cached_tokens", &Capabilities::cached_tokens},
    {"engine_step_release", &Capabilities::engine_step_release},
    {"flush", &Capabilities::flush},
    {"ids_in", &Capabilities::ids_in},
    {"ids_out", &Capabilities::ids_out},
    {"ignore_eos", &Capabilities::ignore_eos},
    {"logprobs", &Capabilities::logprobs},
    {"prefix_cache", &Capabilities::prefix_cache},
    {"prompt_logprobs", &Capabilities::prompt_logprobs},
    {"restart", &Capabilities::restart},
    {"seed", &Capabilities::seed},
    {"stream", &Capabilities::stream},
    {"text", &Capabilities::text},
    {"text_in", &Capabilities::text_in},
    {"top_ids", &Capabilities::top_ids},
};
// Came later than the others: reports without it are read, and it is written where it is true.
constexpr std::string_view kTextIn = "text_in";

Capabilities ReadCapabilities(const JsonValue& value) {
  value.CheckFields({"abort", "batch_witness", "cache_bypass", "cached_tokens",
                     "engine_step_release", "flush", "ids_in", "ids_out", "ignore_eos", "logprobs",
                     "prefix_cache", "prompt_logprobs", "restart", "seed", "stream", "text",
                     "text_in", "top_ids"});
  Capabilities capabilities;
  for (const auto& [name, bit] : kCapabilities) {
    if (name != kTextIn || value.Find(name)) capabilities.*bit = value.At(name).Bool();
  }
  return capabilities;
}

}  // namespace

void WriteManifest(const Manifest& manifest, JsonText* json) {
  json->BeginArray();
  for (const ManifestField& field : manifest) {
    json->BeginObject();
    WriteText("name", field.name, json);
    json->Field("source", WordOf(kSourceWords, field.source));
    WriteText("value", field.value, json);
    json->EndObject();
  }
  json->EndArray();
}

Manifest ReadManifest(const JsonValue& value) {
  Manifest manifest;
  for (const JsonValue& item : value.Items()) {
    item.CheckFields({"name", "source", "value"});
    manifest.push_back({ReadText(item.At("name")), ReadText(item.At("value")),
                        item.At("source").Word(kSourceWords)});
  }
  return manifest;
}

void WriteFacts(const TargetFacts& facts, JsonText* json) {
  json->BeginObject();
  json->Key("capabilities");
  json->BeginObject();
  for (const auto& [name, bit] : kCapabilities) {
    if (name != kTextIn || facts.capabilities.text_in) json->Field(name, facts.capabilities.*bit);
  }
  json->EndObject();
  json->Field("chunk_size", facts.chunk_size);
  json->Field("context_len", facts.context_len);
  json->Field("kv_pool_tokens", facts.kv_pool_tokens);
  json->Field("max_running_requests", facts.max_running_requests);
  json->Field("page_size", facts.page_size);
  json->Field("vocab_size", facts.vocab_size);
  json->EndObject();
}

TargetFacts ReadFacts(const JsonValue& value) {
  value.CheckFields({"capabilities", "chunk_size", "context_len", "kv_pool_tokens",
                     "max_running_requests", "page_size", "vocab_size"});
  TargetFacts facts;
  facts.capabilities = ReadCapabilities(value.At("capabilities"));
  facts.chunk_size = OptionalIntOf(value, "chunk_size");
  facts.context_len = OptionalIntOf(value, "context_len");
  facts.kv_pool_tokens = OptionalIntOf(value, "kv_pool_tokens");
  facts.max_running_requests = OptionalIntOf(value, "max_running_requests");
  facts.page_size = OptionalIntOf(value, "page_size");
  facts.vocab_size = OptionalIntOf(value, "vocab_size");
  return facts;
}

}  // namespace detcheck
