#include "engine/server/sampling_fields.h"

#include <algorithm>
#include <limits>

#include "engine/server/http_types.h"

namespace detcheck {

Sampling ReadSampling(const JsonFields& fields, double greedy_below) {
  Sampling sampling;
  sampling.temperature = fields.Real("temperature", 1.0, 0.0, std::numeric_limits<double>::max());
  if (sampling.temperature < greedy_below) sampling.temperature = 0.0;
  sampling.top_p = fields.Real("top_p", 1.0, 0.0, 1.0);
  if (sampling.top_p <= 0.0) throw ApiError(400, fields.Name("top_p") + " is not above 0");
  sampling.min_p = fields.Real("min_p", 0.0, 0.0, 1.0);
  const int64_t top_k = fields.Whole("top_k", -1, -1, std::numeric_limits<int64_t>::max());
  // 0 is vLLM's word for "off", a very large one SGLang's.
  sampling.top_k =
      top_k < 1 || top_k > std::numeric_limits<int>::max() ? -1 : static_cast<int>(top_k);
  fields.RequireNeutral("n", 1);
  fields.RequireNeutral("frequency_penalty", 0);
  fields.RequireNeutral("presence_penalty", 0);
  fields.RequireNeutral("repetition_penalty", 1);
  for (const char* field : {"stop", "stop_token_ids", "logit_bias"}) fields.RequireEmpty(field);
  return sampling;
}

}  // namespace detcheck
