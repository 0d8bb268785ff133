#include "engine/remote/tier.h"

#include <algorithm>
#include <charconv>

#include "engine/base/error.h"
#include "engine/base/private_names.h"

namespace detcheck {
namespace {

using Size = std::optional<int> TargetFacts::*;

constexpr std::pair<const char*, Size> kSizes[] = {
    {"engine.page_size", &TargetFacts::page_size},
    {"engine.chunked_prefill_size", &TargetFacts::chunk_size},
    {"engine.max_running_requests", &TargetFacts::max_running_requests},
    {"engine.kv_pool_tokens", &TargetFacts::kv_pool_tokens},
    {"model.context_len", &TargetFacts::context_len},
    {"model.vocab_size", &TargetFacts::vocab_size},
};

constexpr std::pair<const char*, bool Capabilities::*> kShown[] = {
    {"token IDs in", &Capabilities::ids_in},
    {"prompts as text", &Capabilities::text_in},
    {"token IDs out", &Capabilities::ids_out},
    {"logprobs", &Capabilities::logprobs},
    {"prompt logprobs", &Capabilities::prompt_logprobs},
    {"seed", &Capabilities::seed},
    {"cached tokens", &Capabilities::cached_tokens},
    {"cache bypass", &Capabilities::cache_bypass},
    {"flush", &Capabilities::flush},
    {"server witness", &Capabilities::batch_witness},
};

int SizeIn(const std::string& name, const std::string& value) {
  int size = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
  if (error != std::errc() || end != value.data() + value.size() || size < 1) {
    throw Error(ErrorCode::kUsage, "--declare " + name + ": not a whole number above 0");
  }
  return size;
}

}  // namespace

void ApplyFindings(const PreflightFindings& seen, Capabilities* can) {
  can->ids_out = can->ids_out && seen.ids_out;
  can->logprobs = can->logprobs && seen.logprobs;
  can->top_ids = can->top_ids && seen.top_ids;
  can->text = can->text && seen.text;
  can->ignore_eos = can->ignore_eos && seen.ignore_eos;
  can->cached_tokens = can->cached_tokens && seen.cached_tokens;
  can->cache_bypass = can->cache_bypass && seen.cache_bypass;
  if (seen.cache_is_off) can->prefix_cache = false;
}

void ApplyDeclared(const std::vector<std::pair<std::string, std::string>>& declared,
                   ServerClaims* claims) {
  const size_t num_claimed = claims->subject.size();
  for (const auto& [name, value] : declared) {
    const bool is_told = std::any_of(
        claims->subject.begin(), claims->subject.begin() + static_cast<std::ptrdiff_t>(num_claimed),
        [&name = name](const ManifestField& field) { return field.name == name; });
    if (is_told) {
      throw Error(ErrorCode::kUsage, "--declare " + name + ": the server tells it itself");
    }
    for (const auto& [size_name, size] : kSizes) {
      if (name == size_name) claims->facts.*size = SizeIn(name, value);
    }
    claims->subject.push_back({name, WithoutPaths(value), FieldSource::kDeclared});
  }
}

std::string TierInWords(const Capabilities& can) {
  const bool is_whole = can.ids_in && can.ids_out && can.logprobs && can.batch_witness &&
                        (can.cache_bypass || can.flush || !can.prefix_cache);
  std::string words = std::string("tier ") + (is_whole ? "A" : can.ids_out ? "B" : "C") + ": ";
  std::string missing;
  bool first = true;
  for (const auto& [name, bit] : kShown) {
    if (can.*bit) {
      words += (first ? "" : ", ") + std::string(name);
      first = false;
    } else if (bit != &Capabilities::text_in) {  // Only a makeshift.
      missing += (missing.empty() ? "" : ", ") + std::string(name);
    }
  }
  return missing.empty() ? words : words + "; not: " + missing;
}

}  // namespace detcheck
