#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace detcheck {

/// A page of the KV cache: slots [page · page_size, (page + 1) · page_size).
using PageId = int32_t;

/// The free pages of the KV cache. A page that is not free has one owner, which returns it: a
/// sequence, or the radix cache (which counts the sequences that read it). Which page is handed
/// out never shows in a result: attention reads a sequence's slots in the order of its positions.
class KvPool {
 public:
  /// `num_pages` >= 1 pages of `page_size` >= 1 tokens. Pages are handed out in ascending order at
  /// first, and after that the one returned last comes first. With a placement seed the first
  /// order is shuffled by it instead, so that tests see arbitrary placements.
  KvPool(int num_pages, int page_size, std::optional<uint64_t> placement_seed = std::nullopt);

  int page_size() const { return page_size_; }
  int num_pages() const { return static_cast<int>(is_free_.size()); }
  int num_free() const { return static_cast<int>(free_.size()); }

  /// A free page, now the caller's; nothing where none is free.
  std::optional<PageId> Allocate();

  /// Returns a page to the free ones. Throws Error(kInternal) for a page that is free already.
  void Free(PageId page);

 private:
  int page_size_;
  std::vector<PageId> free_;  ///< A stack.
  std::vector<bool> is_free_;
};

/// Pages that `num_tokens` tokens take.
inline int PagesFor(int64_t num_tokens, int page_size) {
  return static_cast<int>((num_tokens + page_size - 1) / page_size);
}

}  // namespace detcheck
