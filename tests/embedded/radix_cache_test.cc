#include "engine/embedded/radix_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"

namespace detcheck {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RadixCacheTest : public ::testing::Test {
 protected:
  /// Adds the whole pages of `ids` with pages of the pool.
  std::vector<PageId> Add(const std::vector<TokenId>& ids) {
    std::vector<PageId> pages;
    for (size_t i = 0; i < ids.size() / 2; ++i) pages.push_back(*pool_.Allocate());
    cache_.Insert(ids, &pages);
    return pages;
  }
  std::vector<PageId> Find(const std::vector<TokenId>& ids, int max_tokens = 100) {
    return cache_.Find(ids, max_tokens).pages;
  }
  void Use(const std::vector<TokenId>& ids) {
    RadixCache::Node* node = cache_.Find(ids, 100).node;
    cache_.Lock(node);
    cache_.Unlock(node);
  }

  KvPool pool_{8, 2};
  RadixCache cache_{&pool_};
};

TEST_F(RadixCacheTest, PathsOfDifferentSaltsShareNothing) {
  Add({1, 2, 3, 4});
  for (const char* salt : {"a", "b"}) {
    EXPECT_THAT(cache_.Find(std::vector<TokenId>{1, 2, 3, 4}, 4, salt).pages, IsEmpty());
    std::vector<PageId> pages = {*pool_.Allocate(), *pool_.Allocate()};
    const std::vector<PageId> own = pages;
    cache_.Insert(std::vector<TokenId>{1, 2, 3, 4}, &pages, salt);
    EXPECT_EQ(pages, own);
    EXPECT_EQ(cache_.Find(std::vector<TokenId>{1, 2, 3, 4}, 4, salt).pages, own);
  }
  EXPECT_THAT(Find({1, 2, 3, 4}), ElementsAre(0, 1));
  EXPECT_EQ(cache_.Evict(6), 6);
  EXPECT_EQ(pool_.num_free(), 8);
}

TEST_F(RadixCacheTest, FindsWholePagesOnly) {
  Add({1, 2, 3, 4});
  EXPECT_THAT(Find({1, 2, 3, 4, 5}), ElementsAre(0, 1));
  EXPECT_THAT(Find({1, 2, 3, 9}), ElementsAre(0));
  EXPECT_THAT(Find({1, 2, 3}), ElementsAre(0));
  EXPECT_THAT(Find({1}), IsEmpty());
  EXPECT_THAT(Find({2, 1}), IsEmpty());
}

TEST_F(RadixCacheTest, TakesNoMoreThanMaxTokens) {
  Add({1, 2, 3, 4});
  EXPECT_THAT(Find({1, 2, 3, 4}, 4), ElementsAre(0, 1));
  EXPECT_THAT(Find({1, 2, 3, 4}, 3), ElementsAre(0));
  EXPECT_THAT(Find({1, 2, 3, 4}, 1), IsEmpty());
  EXPECT_THAT(Find({1, 2, 3, 4}, 0), IsEmpty());
}

TEST_F(RadixCacheTest, BranchesShareTheirPrefix) {
  Add({1, 2, 3, 4});
  EXPECT_THAT(Add({1, 2, 5, 6}), ElementsAre(0, 3)) << "the first page is the tree's";
  EXPECT_EQ(cache_.num_pages(), 3);
  EXPECT_EQ(pool_.num_free(), 5) << "the duplicate went back";
  EXPECT_THAT(Find({1, 2, 5, 6}), ElementsAre(0, 3));
}

TEST_F(RadixCacheTest, EvictsTheLeastRecentlyUsedLeafFirst) {
  Add({1, 2, 3, 4});
  Add({5, 6});
  Use({1, 2, 3, 4});
  EXPECT_EQ(cache_.Evict(1), 1);
  EXPECT_THAT(Find({5, 6}), IsEmpty());
  EXPECT_EQ(cache_.Evict(1), 1);
  EXPECT_THAT(Find({1, 2, 3, 4}), ElementsAre(0)) << "a path goes from its end";
  EXPECT_EQ(cache_.Evict(5), 1);
  EXPECT_EQ(pool_.num_free(), 8);
}

TEST_F(RadixCacheTest, LockedPathsStay) {
  Add({1, 2, 3, 4, 5, 6});
  RadixCache::Node* node = cache_.Find(std::vector<TokenId>{1, 2, 3, 4}, 4).node;
  cache_.Lock(node);
  cache_.Lock(node);
  EXPECT_EQ(cache_.num_unlocked(), 1);
  EXPECT_EQ(cache_.Evict(8), 1);
  cache_.Unlock(node);
  EXPECT_EQ(cache_.Evict(8), 0);
  EXPECT_THROW(cache_.Clear(), Error);
  cache_.Unlock(node);
  EXPECT_EQ(cache_.num_unlocked(), 2);
  cache_.Clear();
  EXPECT_EQ(cache_.num_pages(), 0);
  EXPECT_EQ(pool_.num_free(), 8);
}

TEST_F(RadixCacheTest, ALeafThatGetsAChildIsNoLeaf) {
  Add({1, 2});
  Add({1, 2, 3, 4});
  EXPECT_EQ(cache_.Evict(1), 1);
  EXPECT_THAT(Find({1, 2, 3, 4}), ElementsAre(0));
  EXPECT_EQ(cache_.Evict(8), 1);
  EXPECT_EQ(pool_.num_free(), 8);
}

TEST(RadixCacheSizeTest, ALongPathIsDestroyedInTimeAndStack) {
  KvPool pool(100000, 1);
  RadixCache cache(&pool);
  std::vector<PageId> pages;
  while (const auto page = pool.Allocate()) pages.push_back(*page);
  const std::vector<TokenId> ids(pages.size(), 7);
  cache.Insert(ids, &pages);
  EXPECT_EQ(cache.num_pages(), 100000);
}

}  // namespace
}  // namespace detcheck
