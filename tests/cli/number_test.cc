#include "cli/number.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/cli/testing.h"

namespace detcheck {
namespace {

TEST(Number, ReadsWholeNumbersInRange) {
  EXPECT_EQ(ParseWhole("--n", "0", 0, 9), 0);
  EXPECT_EQ(ParseWhole("--n", "9", 0, 9), 9);
  EXPECT_EQ(ParseWhole("--n", "-3", -5, 9), -3);
}

TEST(Number, RefusesWhatIsNoWholeNumberInRange) {
  for (const char* text : {"", " 1", "1 ", "+1", "1.0", "1e2", "0x10", "10", "-1", "abc", "1,2",
                           "99999999999999999999"}) {
    const Thrown thrown = ErrorOf([&] { ParseWhole("--n", text, 0, 9); });
    EXPECT_EQ(thrown.code, ErrorCode::kUsage);
    EXPECT_EQ(thrown.message, std::string("--n ") + (*text != '\0' ? text : "''") +
                                  ": not a whole number from 0 to 9");
  }
}

TEST(Number, ReadsLists) {
  EXPECT_THAT(ParseWholeList("--n", "3", 1, 9), testing::ElementsAre(3));
  EXPECT_THAT(ParseWholeList("--n", "3,1,9", 1, 9), testing::ElementsAre(3, 1, 9));
}

TEST(Number, RefusesListsWithAHole) {
  for (const char* text : {"", ",", "1,", ",1", "1,,2", "1 2", "1, 2", "0", "1,10", "1;2"}) {
    const Thrown thrown = ErrorOf([&] { ParseWholeList("--n", text, 1, 9); });
    EXPECT_THAT(thrown.message, testing::HasSubstr("not whole numbers from 1 to 9 between commas"));
  }
}

TEST(Number, ReadsReals) {
  EXPECT_EQ(ParseReal("--x", "0.25", 0, 1), 0.25);
  EXPECT_EQ(ParseReal("--x", "1e-3", 0, 1), 1e-3);
  EXPECT_EQ(ParseReal("--x", "1", 0, 1), 1.0);
}

TEST(Number, RefusesRealsThatAreNotFiniteOrOutOfRange) {
  for (const char* text : {"", "nan", "NAN", "inf", "-inf", "infinity", "1e999", "-0.1", "1.1",
                           "0.5x", " 0.5", "0,5"}) {
    EXPECT_EQ(ErrorOf([&] { ParseReal("--x", text, 0, 1); }).code, ErrorCode::kUsage) << text;
  }
  const double most = std::numeric_limits<double>::max();
  EXPECT_EQ(ErrorOf([&] { ParseReal("--x", "nan", 0, most); }).message,
            "--x nan: not a finite number of 0 or more");
}

}  // namespace
}  // namespace detcheck
