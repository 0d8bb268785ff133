#pragma once

#include <optional>

#include "engine/backend.h"
#include "engine/embedded/kv_pool.h"
#include "engine/embedded/radix_cache.h"
#include "engine/embedded/sequence.h"

namespace detcheck {

/// Gives sequences the pages of the KV cache: out of the prefix cache, from the free ones, or by
/// eviction. Each page is free, the prefix cache's, or one sequence's own.
class SequencePages {
 public:
  /// `pool` must outlive this. Without `radix_cache` no sequence reads or leaves anything.
  SequencePages(KvPool* pool, bool radix_cache);

  bool radix_cache() const { return radix_cache_; }
  int page_size() const { return pool_->page_size(); }
  int num_pages() const { return pool_->num_pages(); }
  int num_free() const { return pool_->num_free(); }
  int num_cached() const { return tree_.num_pages(); }
  /// Pages that can be had, by eviction too.
  int num_available() const { return pool_->num_free() + tree_.num_unlocked(); }
  /// Sequences between Admit and Release.
  int num_admitted() const { return num_admitted_; }

  /// Pages for all tokens that `seq` has, its longest cached prefix among them (of at most len − 1
  /// tokens, so that there is something to compute); sets num_computed to what is cached. False,
  /// with nothing changed, unless that leaves `reserve` more pages to be had.
  bool Admit(Sequence* seq, int reserve);

  /// A page for the last token of `seq` where it lacks one. False: there is none to be had.
  bool Extend(Sequence* seq);

  /// Leaves the whole pages of computed tokens in the prefix cache, where `seq` uses it; they stay
  /// locked while it runs. Pages that the cache has already are taken over from it.
  void Publish(Sequence* seq);

  /// Takes all pages from `seq`: cached ones are unlocked, its own become free.
  void Release(Sequence* seq);

  /// Empties the prefix cache; refused while sequences are admitted.
  FlushResult Flush();

 private:
  /// Throws Error(kInternal) where none is available.
  PageId Take();
  void AddPage(Sequence* seq, PageId page);

  KvPool* pool_;
  bool radix_cache_;
  RadixCache tree_;
  int num_admitted_ = 0;
};

}  // namespace detcheck
