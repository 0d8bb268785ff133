#include "engine/remote/answer_parts.h"

#include <algorithm>

namespace detcheck {

std::optional<std::vector<TokenId>> ReadTokenIds(const JsonNode& array) {
  std::vector<TokenId> ids;
  for (const JsonNode& item : array.items()) {
    const auto id = ReadTokenId(item);
    if (!id) return std::nullopt;
    ids.push_back(*id);
  }
  return ids;
}

void SortCandidates(std::vector<TokenCandidate>* candidates, size_t most) {
  std::sort(candidates->begin(), candidates->end(),
            [](const TokenCandidate& a, const TokenCandidate& b) {
              return a.logprob != b.logprob ? a.logprob > b.logprob : a.id < b.id;
            });
  if (candidates->size() > most) candidates->resize(most);
}

void Fail(Answer* answer, std::string why) {
  if (answer->error.empty()) answer->error = std::move(why);
}

}  // namespace detcheck
