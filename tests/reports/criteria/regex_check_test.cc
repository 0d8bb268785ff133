#include "reports/criteria/regex_check.h"

#include <gtest/gtest.h>

#include "tests/fixtures/error_of.h"

namespace detcheck {
namespace {

Validity MatchOf(const std::string& pattern, const std::string& text) {
  return MakeRegexCheck(pattern)->Check(text).validity;
}

TEST(RegexCheck, MatchesSomewhere) {
  EXPECT_EQ(MatchOf("b+", "abba"), Validity::kValid);
  EXPECT_EQ(MatchOf("^b", "abba"), Validity::kInvalid);
  EXPECT_EQ(MatchOf(R"(\Aabba\z)", "abba"), Validity::kValid);
  EXPECT_EQ(MatchOf(R"(\Aabba\z)", "abba\n"), Validity::kInvalid);
  EXPECT_EQ(MatchOf("(?i)ABBA", "abba"), Validity::kValid);
  EXPECT_EQ(MatchOf("^$", ""), Validity::kValid);
  EXPECT_EQ(MatchOf("b", std::string("a\0b", 3)), Validity::kValid);
}

TEST(RegexCheck, TextIsUtf8AndNeedNotBe) {
  EXPECT_EQ(MatchOf("^.$", "\xC3\xA4"), Validity::kValid);
  EXPECT_EQ(MatchOf("b", "a\xFF b"), Validity::kValid);
  EXPECT_EQ(MatchOf("c", "a\xFF b"), Validity::kInvalid);
}

TEST(RegexCheck, OneCheckServesManyTexts) {
  const auto check = MakeRegexCheck("^a");
  EXPECT_EQ(check->Check("ab"), (TextFinding{Validity::kValid, ""}));
  EXPECT_EQ(check->Check("ba"), (TextFinding{Validity::kInvalid, "the pattern does not match"}));
  EXPECT_EQ(check->Check("ac"), (TextFinding{Validity::kValid, ""}));
}

TEST(RegexCheck, AMatchWithoutEndIsUnknown) {
  const TextFinding finding = MakeRegexCheck("^(a+)+$")->Check(std::string(64, 'a') + "b");
  EXPECT_EQ(finding.validity, Validity::kUnknown);
  EXPECT_EQ(finding.why, "the match was given up: match limit exceeded");
}

TEST(RegexCheck, PatternsThatAreNone) {
  EXPECT_EQ(ErrorOf([] { MakeRegexCheck("a(b"); }, ErrorCode::kUsage),
            "criterion regex: \"a(b\": at byte 3: missing closing parenthesis");
  EXPECT_EQ(ErrorOf([] { MakeRegexCheck("a\xFF"); }, ErrorCode::kUsage).substr(0, 22),
            "criterion regex: \"a\xEF\xBF\xBD");
}

}  // namespace
}  // namespace detcheck
