#include "cli/plan_fit.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "fixtures/file_io.h"

namespace detcheck {

void RequireFits(const Plan& plan, const std::string& file, const TargetFacts& facts) {
  if (plan.vocab_size > facts.vocab_size.value_or(plan.vocab_size)) {
    throw Error(ErrorCode::kInput, fmt::format("{}: vocab_size: {} is more than the target's {}",
                                               OneLine(file), plan.vocab_size, *facts.vocab_size));
  }
  for (size_t i = 0; i < plan.requests.size(); ++i) {
    const PlannedRequest& request = plan.requests[i];
    const int need = PromptLen(request) + request.max_new_tokens;
    if (need <= facts.context_len.value_or(need)) continue;
    throw Error(
        ErrorCode::kInput,
        fmt::format("{}: requests[{}]: a prompt of {} tokens and an answer of {} are longer "
                    "than the target's context of {}",
                    OneLine(file), i, PromptLen(request), request.max_new_tokens,
                    *facts.context_len));
  }
}

}  // namespace detcheck
