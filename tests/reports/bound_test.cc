#include "reports/bound.h"

#include <gtest/gtest.h>

namespace detcheck {
namespace {

// The published table (reference: Hanley and Lippman-Hand 1983; Eypasch, BMJ 1995).
TEST(Bound, PublishedValues) {
  const struct {
    int n;
    const char* percent;
  } rows[] = {{3, "63.2 %"},   {5, "45.1 %"},    {10, "25.9 %"},  {20, "13.9 %"},
              {50, "5.8 %"},   {100, "3.0 %"},   {299, "1.0 %"},  {300, "1.0 %"},
              {500, "0.60 %"}, {1000, "0.30 %"}, {3000, "0.10 %"}};
  for (const auto& row : rows) {
    EXPECT_EQ(PercentInWords(UpperBound95(row.n)), row.percent) << "n = " << row.n;
  }
}

TEST(Bound, NothingIsKnownWithoutABatch) {
  EXPECT_EQ(UpperBound95(0), 1.0);
  EXPECT_EQ(BoundInWords(0, 1), "no batch counts: nothing is known");
}

TEST(Bound, InWords) {
  EXPECT_EQ(BoundInWords(50, 1),
            "up to 5.8 % of such batches could still diverge (95 % confidence, 50 distinct "
            "batches); says nothing about other starts of the server");
  EXPECT_EQ(BoundInWords(1, 2),
            "up to 95.0 % of such batches could still diverge (95 % confidence, 1 distinct batch)");
}

TEST(Bound, SmallSharesKeepADigit) {
  EXPECT_EQ(PercentInWords(0.00003), "0.003 %");
}

}  // namespace
}  // namespace detcheck
