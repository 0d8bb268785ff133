#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/request.h"
#include "engine/embedded/kv_pool.h"

namespace detcheck {

/// The prefix cache: a radix tree over token IDs whose edges are whole pages. The path to a node
/// spells a token sequence; the node owns the page with the KV of its last page_size tokens.
/// Pages of a path that a sequence reads are locked; unlocked leaves are evicted when pages are
/// short, the least recently used first.
class RadixCache {
 public:
  struct Node;

  /// `pool` is where evicted pages go; it must outlive the cache.
  explicit RadixCache(KvPool* pool);
  ~RadixCache();
  RadixCache(const RadixCache&) = delete;
  RadixCache& operator=(const RadixCache&) = delete;

  /// A cached prefix: the pages of its path and its last node (the root: nothing cached). Valid
  /// until the next Insert or Evict, or while `node` is locked.
  struct Match {
    std::vector<PageId> pages;
    Node* node = nullptr;
  };

  /// The longest cached prefix of `ids` that takes at most `max_tokens` tokens, among the paths
  /// that were added with the same salt.
  Match Find(std::span<const TokenId> ids, int64_t max_tokens, std::string_view salt = {});

  /// Adds the path that spells the first pages->size() pages of `ids`; nodes made take their page
  /// from `pages`. Where the tree has a page already, the caller's page goes back to the pool and
  /// the tree's takes its place in `pages`. Returns the last node of the path.
  Node* Insert(std::span<const TokenId> ids, std::vector<PageId>* pages,
               std::string_view salt = {});

  /// Keeps the path to `node` from eviction until Unlock; counted. The path becomes the most
  /// recently used.
  void Lock(Node* node);
  void Unlock(Node* node);

  /// Returns up to `num_pages` unlocked pages to the pool; gives how many.
  int Evict(int num_pages);

  /// Returns every page to the pool. Nothing may be locked.
  void Clear();

  int num_pages() const { return num_pages_; }        ///< Pages that the tree owns.
  int num_unlocked() const { return num_unlocked_; }  ///< Of these, how many can be evicted.

 private:
  /// Orders evictable leaves: least recently used first, then oldest.
  using LeafKey = std::pair<int64_t, int64_t>;

  void SetEvictable(Node* node, bool evictable);
  void Remove(Node* leaf);

  KvPool* pool_;
  std::unique_ptr<Node> root_;
  std::map<LeafKey, Node*> evictable_;  ///< Unlocked leaves.
  int64_t clock_ = 0;                   ///< Counts uses.
  int64_t num_created_ = 0;
  int num_pages_ = 0;
  int num_unlocked_ = 0;
};

}  // namespace detcheck
