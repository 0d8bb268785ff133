#pragma once

#include <string>
#include <vector>

#include "tests/reports/run_builder.h"

namespace detcheck {

/// An answer without token IDs, of these tokens, with the logprob -0.5 for each.
inline Completion Writes(const std::vector<std::string>& tokens) {
  Completion answer = SaysOnly({});
  answer.text = "";
  for (const std::string& token : tokens) {
    *answer.text += token;
    answer.token_bytes.push_back(token);
    answer.logprobs.push_back({-0.5, {}});
  }
  answer.completion_tokens = static_cast<int>(tokens.size());
  return answer;
}

}  // namespace detcheck
