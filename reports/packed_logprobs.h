#pragma once

// Internal: included only from .cc files that read or write a format.
//
// The logprobs of one answer as columns, each the base64 text (RFC 4648) of little-endian numbers:
//
//   {"chosen": "…", "top": "…", "top_ids": "…", "top_n": 5, "type": "f32"}
//
//   type     "f32" where every number of the answer is a float32 in value and bits, else "f64".
//   chosen   Logprob of the token at each position.
//   top      Logprobs of the candidates, position after position, the most probable first.
//   top_ids  Their token IDs, int32.
//   top_n    Candidates per position: one number, or a list where positions differ.
//
// top, top_ids and top_n are left out where no position has candidates. In Python:
// numpy.frombuffer(base64.b64decode(block["chosen"]), "<f4").

#include <vector>

#include "engine/base/request.h"
#include "fixtures/json_reader.h"
#include "reports/json_text.h"

namespace detcheck {

void WriteLogprobs(const std::vector<TokenLogprob>& logprobs, JsonText* json);

/// Exactly what was written, bit for bit.
std::vector<TokenLogprob> ReadLogprobs(const JsonValue& value);

}  // namespace detcheck
