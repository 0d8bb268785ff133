#include "engine/embedded/kv_pool.h"

#include <numeric>
#include <string>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/rng.h"

namespace detcheck {

KvPool::KvPool(int num_pages, int page_size, std::optional<uint64_t> placement_seed)
    : page_size_(page_size), free_(num_pages), is_free_(num_pages, true) {
  std::iota(free_.rbegin(), free_.rend(), 0);
  if (!placement_seed) return;
  Rng rng(*placement_seed);
  for (int i = num_pages - 1; i > 0; --i) {
    std::swap(free_[i], free_[rng.Below(static_cast<uint32_t>(i) + 1)]);
  }
}

std::optional<PageId> KvPool::Allocate() {
  if (free_.empty()) return std::nullopt;
  const PageId page = free_.back();
  free_.pop_back();
  is_free_[page] = false;
  return page;
}

void KvPool::Free(PageId page) {
  if (is_free_.at(page)) {
    throw Error(ErrorCode::kInternal, "KV page " + std::to_string(page) + " was returned twice");
  }
  is_free_[page] = true;
  free_.push_back(page);
}

}  // namespace detcheck
