#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "engine/base/request.h"

namespace detcheck {

/// A prefix cache of whole pages, without eviction.
class FakeCache {
 public:
  explicit FakeCache(int page_size) : page_size_(page_size) {}

  void Clear() { pages_.clear(); }
  /// Leading tokens of `prompt` that are here; the last token is always left to compute.
  int Match(const std::vector<TokenId>& prompt) const;
  /// Keeps the whole pages among the first `len` of `tokens`.
  void Insert(const std::vector<TokenId>& tokens, int len);

 private:
  int page_size_;
  std::unordered_set<uint64_t> pages_;  // digest of a page and all tokens before it
};

}  // namespace detcheck
