#include "engine/embedded/kv_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"

namespace detcheck {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

std::vector<PageId> TakeAll(KvPool* pool) {
  std::vector<PageId> pages;
  while (const auto page = pool->Allocate()) pages.push_back(*page);
  return pages;
}

TEST(KvPoolTest, HandsOutAscendingAndThenTheLastReturnedFirst) {
  KvPool pool(4, 16);
  EXPECT_THAT(TakeAll(&pool), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(pool.num_free(), 0);
  pool.Free(1);
  pool.Free(3);
  EXPECT_EQ(pool.num_free(), 2);
  EXPECT_THAT(TakeAll(&pool), ElementsAre(3, 1));
}

TEST(KvPoolTest, PlacementSeedShufflesThePages) {
  KvPool pool(5, 1, 3);
  KvPool same(5, 1, 3);
  const auto pages = TakeAll(&pool);
  EXPECT_THAT(pages, UnorderedElementsAre(0, 1, 2, 3, 4));
  EXPECT_NE(pages, (std::vector<PageId>{0, 1, 2, 3, 4}));
  EXPECT_EQ(pages, TakeAll(&same));
}

TEST(KvPoolTest, RefusesAPageThatIsFree) {
  KvPool pool(2, 1);
  EXPECT_THROW(pool.Free(0), Error);
}

TEST(KvPoolTest, PagesForRoundsUp) {
  EXPECT_EQ(PagesFor(0, 4), 0);
  EXPECT_EQ(PagesFor(1, 4), 1);
  EXPECT_EQ(PagesFor(4, 4), 1);
  EXPECT_EQ(PagesFor(5, 4), 2);
}

}  // namespace
}  // namespace detcheck
