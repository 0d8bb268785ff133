#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/remote/adapter.h"

namespace detcheck {

// What adapters share when they read answers.

/// A number of a token's ID; absent where it is none that fits.
inline std::optional<TokenId> ReadTokenId(const JsonNode& node) {
  const auto id = node.Int64();
  if (!id || *id < 0 || *id > INT32_MAX) return std::nullopt;
  return static_cast<TokenId>(*id);
}

/// All IDs of an array; absent where one is none.
std::optional<std::vector<TokenId>> ReadTokenIds(const JsonNode& array);

/// Most probable first, ties by lowest ID, at most `most` of them.
void SortCandidates(std::vector<TokenCandidate>* candidates, size_t most);

/// Adds what an event tells to what was read before. Servers send all so far, or what is new; which
/// it is shows in `total`, the number of elements after this event. Null where neither fits; else
/// whether the event had all.
template <typename T>
std::optional<bool> Merge(std::vector<T> now, size_t total, std::vector<T>* have) {
  if (now.size() == total && total >= have->size()) {
    *have = std::move(now);
    return true;
  }
  if (have->size() + now.size() != total) return std::nullopt;
  have->insert(have->end(), now.begin(), now.end());
  return false;
}

/// Marks the answer as useless, for the first reason that is given.
void Fail(Answer* answer, std::string why);

}  // namespace detcheck
