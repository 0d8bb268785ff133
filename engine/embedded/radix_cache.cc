#include "engine/embedded/radix_cache.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/base/error.h"

namespace detcheck {

struct RadixCache::Node {
  Node* parent = nullptr;
  std::vector<TokenId> key;  ///< PageKey; unique among the parent's children.
  PageId page = -1;
  int num_locks = 0;
  int64_t last_use = 0;
  int64_t serial = 0;  ///< Order of creation.
  std::map<std::vector<TokenId>, std::unique_ptr<Node>> children;

  bool evictable() const { return parent != nullptr && num_locks == 0 && children.empty(); }
};

namespace {

/// A page's tokens. The first page of a path has the path's salt after them, each byte as a number
/// that is no token ID.
std::vector<TokenId> PageKey(std::span<const TokenId> ids, size_t begin, size_t page_size,
                             std::string_view salt) {
  const auto page_ids = ids.subspan(begin, page_size);
  std::vector<TokenId> key(page_ids.begin(), page_ids.end());
  if (begin > 0) return key;
  for (const char byte : salt) key.push_back(-1 - static_cast<unsigned char>(byte));
  return key;
}

}  // namespace

RadixCache::RadixCache(KvPool* pool) : pool_(pool), root_(std::make_unique<Node>()) {}

/// Leaves first and without recursion: a path is as long as a prompt has pages.
RadixCache::~RadixCache() {
  Node* node = root_.get();
  while (node != root_.get() || !node->children.empty()) {
    if (!node->children.empty()) {
      node = node->children.begin()->second.get();
    } else {
      node = node->parent;
      node->children.erase(node->children.begin());
    }
  }
}

RadixCache::Match RadixCache::Find(std::span<const TokenId> ids, int64_t max_tokens,
                                   std::string_view salt) {
  const size_t page_size = pool_->page_size();
  const size_t limit = std::min(ids.size(), static_cast<size_t>(std::max<int64_t>(max_tokens, 0)));
  Match match{.pages = {}, .node = root_.get()};
  for (size_t end = page_size; end <= limit; end += page_size) {
    const auto key = PageKey(ids, end - page_size, page_size, salt);
    const auto child = match.node->children.find(key);
    if (child == match.node->children.end()) break;
    match.node = child->second.get();
    match.pages.push_back(match.node->page);
  }
  return match;
}

RadixCache::Node* RadixCache::Insert(std::span<const TokenId> ids, std::vector<PageId>* pages,
                                     std::string_view salt) {
  const size_t page_size = pool_->page_size();
  Node* node = root_.get();
  for (size_t i = 0; i < pages->size(); ++i) {
    const auto key = PageKey(ids, i * page_size, page_size, salt);
    const auto [slot, is_new] = node->children.try_emplace(key);
    PageId& page = (*pages)[i];
    if (is_new) {
      slot->second = std::make_unique<Node>();
      *slot->second = {.parent = node,
                       .key = key,
                       .page = page,
                       .last_use = ++clock_,
                       .serial = ++num_created_,
                       .children = {}};
      ++num_pages_;
      ++num_unlocked_;
      SetEvictable(node, false);
      SetEvictable(slot->second.get(), true);
    } else if (slot->second->page != page) {
      pool_->Free(std::exchange(page, slot->second->page));
    }
    node = slot->second.get();
  }
  return node;
}

void RadixCache::Lock(Node* node) {
  ++clock_;
  for (; node->parent != nullptr; node = node->parent) {
    SetEvictable(node, false);
    node->last_use = clock_;
    if (node->num_locks++ == 0) --num_unlocked_;
  }
}

void RadixCache::Unlock(Node* node) {
  for (; node->parent != nullptr; node = node->parent) {
    if (--node->num_locks > 0) continue;
    ++num_unlocked_;
    SetEvictable(node, node->evictable());
  }
}

int RadixCache::Evict(int num_pages) {
  int num_evicted = 0;
  for (; num_evicted < num_pages && !evictable_.empty(); ++num_evicted) {
    Remove(evictable_.begin()->second);
  }
  return num_evicted;
}

void RadixCache::Clear() {
  Evict(num_pages_);
  if (num_pages_ > 0) {
    throw Error(ErrorCode::kInternal, "prefix cache: " + std::to_string(num_pages_) +
                                          " pages were locked when it was emptied");
  }
}

void RadixCache::SetEvictable(Node* node, bool evictable) {
  const LeafKey key{node->last_use, node->serial};
  if (evictable) {
    evictable_.emplace(key, node);
  } else {
    evictable_.erase(key);
  }
}

void RadixCache::Remove(Node* leaf) {
  SetEvictable(leaf, false);
  pool_->Free(leaf->page);
  --num_pages_;
  --num_unlocked_;
  Node* parent = leaf->parent;
  parent->children.erase(std::vector<TokenId>(leaf->key));
  if (parent->evictable()) SetEvictable(parent, true);
}

}  // namespace detcheck
