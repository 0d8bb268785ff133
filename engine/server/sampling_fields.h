#pragma once

#include "engine/base/request.h"
#include "engine/server/json_fields.h"

namespace detcheck {

/// Reads temperature, top_p, top_k, min_p and what must be neutral because this engine has no such
/// thing (penalties, stop strings, ...), which both APIs name alike. A temperature below
/// `greedy_below` is greedy decoding. `seed` is left as it is. Throws ApiError(400).
Sampling ReadSampling(const JsonFields& fields, double greedy_below);

/// Most candidates that are told with a token.
inline constexpr int kMostTopLogprobs = 100;
/// Most tokens that may be asked for; the context ends far before.
inline constexpr int kMostNewTokens = 1 << 24;
/// Most prompts of one HTTP request.
inline constexpr size_t kMostPrompts = 4096;
inline constexpr int64_t kMostSeed = int64_t{1} << 53;

}  // namespace detcheck
