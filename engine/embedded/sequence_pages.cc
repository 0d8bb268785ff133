#include "engine/embedded/sequence_pages.h"

#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"

namespace detcheck {

SequencePages::SequencePages(KvPool* pool, bool radix_cache)
    : pool_(pool), radix_cache_(radix_cache), tree_(pool) {}

bool SequencePages::Admit(Sequence* seq, int reserve) {
  RadixCache::Match match;
  if (seq->uses_cache) {
    match = tree_.Find(seq->ids, seq->len() - 1, seq->request->cache_salt);
    tree_.Lock(match.node);
  }
  const int num_wanted = PagesFor(seq->len(), page_size()) - static_cast<int>(match.pages.size());
  if (num_available() < num_wanted + reserve) {
    if (seq->uses_cache) tree_.Unlock(match.node);
    return false;
  }
  seq->locked = match.node;
  seq->num_tree_pages = static_cast<int>(match.pages.size());
  seq->num_computed = seq->num_tree_pages * page_size();
  for (const PageId page : match.pages) AddPage(seq, page);
  for (int i = 0; i < num_wanted; ++i) AddPage(seq, Take());
  ++num_admitted_;
  return true;
}

bool SequencePages::Extend(Sequence* seq) {
  if (seq->len() <= static_cast<int>(seq->slots.size())) return true;
  if (num_available() == 0) return false;
  AddPage(seq, Take());
  return true;
}

void SequencePages::Publish(Sequence* seq) {
  if (!seq->uses_cache) return;
  const int num_whole = seq->num_computed / page_size();
  std::vector<PageId> pages(seq->pages.begin(), seq->pages.begin() + num_whole);
  RadixCache::Node* end = tree_.Insert(seq->ids, &pages, seq->request->cache_salt);
  tree_.Lock(end);
  tree_.Unlock(std::exchange(seq->locked, end));
  pages.insert(pages.end(), seq->pages.begin() + num_whole, seq->pages.end());
  seq->num_tree_pages = num_whole;
  seq->pages.clear();
  seq->slots.clear();
  for (const PageId page : pages) AddPage(seq, page);
}

void SequencePages::Release(Sequence* seq) {
  for (int i = static_cast<int>(seq->pages.size()) - 1; i >= seq->num_tree_pages; --i) {
    pool_->Free(seq->pages[i]);
  }
  if (seq->locked != nullptr) tree_.Unlock(std::exchange(seq->locked, nullptr));
  seq->pages.clear();
  seq->slots.clear();
  seq->num_tree_pages = 0;
  seq->num_computed = 0;
  --num_admitted_;
}

FlushResult SequencePages::Flush() {
  if (num_admitted_ > 0) {
    return {.accepted = false,
            .detail = std::to_string(num_admitted_) + " requests are running, the prefix cache " +
                      "is emptied only when none is"};
  }
  const int num_pages = tree_.num_pages();
  tree_.Clear();
  return {.accepted = true, .detail = std::to_string(num_pages) + " pages emptied"};
}

PageId SequencePages::Take() {
  if (pool_->num_free() == 0) tree_.Evict(1);
  const auto page = pool_->Allocate();
  if (!page) throw Error(ErrorCode::kInternal, "KV pool: no page to be had");
  return *page;
}

void SequencePages::AddPage(Sequence* seq, PageId page) {
  seq->pages.push_back(page);
  for (int i = 0; i < page_size(); ++i) seq->slots.push_back(page * page_size() + i);
}

}  // namespace detcheck
