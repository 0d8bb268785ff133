#include "engine/base/rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace detcheck {
namespace {

using Words = std::array<uint32_t, 4>;

// Random123, tests/kat_vectors, the lines "philox4x32 10".
TEST(Philox, KnownAnswersOfItsAuthors) {
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, GivesTheWordsOfSuccessiveCounters) {
  Rng rng(0x0123456789abcdef, 5);
  for (uint32_t counter = 0; counter < 3; ++counter) {
    const Words words = Philox4x32({counter, 0, 5, 0}, {0x89abcdef, 0x01234567});
    for (int i = 3; i >= 0; --i) EXPECT_EQ(rng.Next32(), words[static_cast<size_t>(i)]);
  }
}

TEST(Rng, SeedsAndStreamsDiffer) {
  std::set<uint64_t> firsts;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (uint32_t stream = 0; stream < 20; ++stream) firsts.insert(Rng(seed, stream).Next64());
  }
  EXPECT_EQ(firsts.size(), 400u);
}

TEST(Rng, BelowStaysBelowAndReachesBothEnds) {
  for (const uint32_t bound : {1u, 2u, 3u, 7u, 64u, 1000u}) {
    Rng rng(bound);
    std::set<uint32_t> seen;
    for (uint32_t i = 0; i < 20 * bound; ++i) seen.insert(rng.Below(bound));
    EXPECT_LT(*seen.rbegin(), bound);
    EXPECT_EQ(*seen.begin(), 0u);
    EXPECT_EQ(*seen.rbegin(), bound - 1);
  }
  Rng rng(1);
  for (int i = 0; i < 1000; ++i) EXPECT_LT(rng.Below(0xffffffff), 0xffffffffu);
}

/// Chi-squared of `counts` against equal shares.
double ChiSquared(const std::vector<int>& counts, int total) {
  const double share = static_cast<double>(total) / static_cast<double>(counts.size());
  double sum = 0;
  for (const int count : counts) sum += (count - share) * (count - share) / share;
  return sum;
}

// Taking words modulo 3 * 2^30 would give the lowest third twice the share of the others.
TEST(Rng, BelowIsUnbiased) {
  constexpr int kTotal = 90000;
  std::vector<int> thirds(3);
  Rng rng(2024);
  for (int i = 0; i < kTotal; ++i) ++thirds[rng.Below(3u << 30) >> 30];
  EXPECT_LT(ChiSquared(thirds, kTotal), 13.8);  // 2 degrees of freedom, p = 0.001

  std::vector<int> sevenths(7);
  for (int i = 0; i < kTotal; ++i) ++sevenths[rng.Below(7)];
  EXPECT_LT(ChiSquared(sevenths, kTotal), 22.5);  // 6 degrees of freedom, p = 0.001
}

TEST(Rng, BetweenIncludesBothEnds) {
  Rng rng(3);
  std::set<int> seen;
  for (int i = 0; i < 200; ++i) seen.insert(rng.Between(-2, 2));
  EXPECT_THAT(seen, ::testing::ElementsAre(-2, -1, 0, 1, 2));
}

TEST(Rng, UnitIsInTheHalfOpenInterval) {
  Rng rng(4);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double unit = rng.Unit();
    ASSERT_GE(unit, 0.0);
    ASSERT_LT(unit, 1.0);
    sum += unit;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

}  // namespace
}  // namespace detcheck
