#include "engine/tokenizer/unicode.h"

#include <gtest/gtest.h>

#include <ctime>
#include <string>

namespace detcheck {
namespace {

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(NfcTest, CombiningCharactersAreOrderedAndComposed) {
  EXPECT_EQ(ToNfc("e\u0301"), "\u00E9");
  EXPECT_EQ(ToNfc("a\u0302\u0323"), "\u1EAD");  // The dot below goes first.
  EXPECT_EQ(ToNfc("a\u0323\u0302"), "\u1EAD");
  EXPECT_EQ(ToNfc("\u1112\u1161\u11AB"), "\uD55C");
  EXPECT_EQ(ToNfc("\u2126"), "\u03A9");
  EXPECT_EQ(ToNfc("x\u0323\u0301\u0323 y"), "x\u0323\u0323\u0301 y");
}

TEST(NfcTest, ManyCombiningCharactersTakeNoLongerThanOthers) {
  constexpr int kNum = 200'000;
  const std::clock_t begin = std::clock();
  const std::string normal = ToNfc("a" + Repeated("\u0301\u0323", kNum));
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 5.0);
  EXPECT_EQ(normal, "\u1EA1" + Repeated("\u0323", kNum - 1) + Repeated("\u0301", kNum));
}

}  // namespace
}  // namespace detcheck
