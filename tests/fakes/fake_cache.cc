#include "tests/fakes/fake_cache.h"

#include "tests/fakes/fake_model.h"

namespace detcheck {

int FakeCache::Match(const std::vector<TokenId>& prompt) const {
  uint64_t digest = FakeModel::Start();
  int matched = 0;
  for (int i = 0; i + 1 < static_cast<int>(prompt.size()); ++i) {
    digest = FakeModel::Extend(digest, prompt[i]);
    if ((i + 1) % page_size_ != 0) continue;
    if (!pages_.contains(digest)) break;
    matched = i + 1;
  }
  return matched;
}

void FakeCache::Insert(const std::vector<TokenId>& tokens, int len) {
  uint64_t digest = FakeModel::Start();
  for (int i = 0; i < len; ++i) {
    digest = FakeModel::Extend(digest, tokens[i]);
    if ((i + 1) % page_size_ == 0) pages_.insert(digest);
  }
}

}  // namespace detcheck
