#include "reports/annotations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/reports/verdict_reports.h"

namespace detcheck {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

GateCase CaseOf(const std::string& name, Verdict verdict, const std::string& message) {
  GateCase one;
  one.name = name;
  one.verdict = verdict;
  one.message = message;
  return one;
}

TEST(Annotations, NothingWhereAllPassed) {
  EXPECT_EQ(RenderAnnotations(SuitesOf(VerdictReport("pass"), "")), "");
}

TEST(Annotations, AFailureIsAnErrorOfOneLine) {
  const std::string text = RenderAnnotations(SuitesOf(VerdictReport("fail"), ""));
  EXPECT_THAT(text, StartsWith("::error title=detcheck.single%3A q01::fail: first divergence at "
                               "output position 3 (numeric;"));
  EXPECT_THAT(text, HasSubstr("%0A    Requirement: The same prompt"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST(Annotations, WhatIsInconclusiveIsAWarning) {
  EXPECT_THAT(RenderAnnotations(SuitesOf(VerdictReport("inconclusive"), "")),
              StartsWith("::warning title=detcheck.single%3A"));
  EXPECT_THAT(RenderAnnotations(SuitesOf(VerdictReport("unsupported"), "")),
              StartsWith("::warning title=detcheck.radix_cache%3A (whole mode)::unsupported: the "
                         "prefix cache is off"));
}

TEST(Annotations, Escapes) {
  GateSuite suite;
  suite.name = "s";
  suite.cases = {CaseOf("100%:a,b\r\n::x", Verdict::kError, "50%, a:b\r\nc")};
  EXPECT_EQ(RenderAnnotations({suite}),
            "::error title=s%3A 100%25%3Aa%2Cb%0D%0A%3A%3Ax::error: 50%25, a:b%0D%0Ac\n");
}

TEST(Annotations, ALongMessageIsCutAndStaysUtf8) {
  GateSuite suite;
  suite.name = "s";
  suite.cases = {CaseOf("a", Verdict::kError, std::string(4088, 'x') + "\xC3\xA9")};
  EXPECT_THAT(RenderAnnotations({suite}), EndsWith("xx\xEF\xBF\xBD\n"));
}

TEST(Annotations, AtMostTenOfAKind) {
  GateSuite suite;
  suite.name = "s";
  for (int i = 0; i < 10; ++i) suite.cases.push_back(CaseOf("f", Verdict::kFail, "m"));
  std::string text = RenderAnnotations({suite});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
  for (int i = 0; i < 10; ++i) suite.cases.push_back(CaseOf("g", Verdict::kInconclusive, "m"));
  suite.cases.push_back(CaseOf("e", Verdict::kError, "m"));
  text = RenderAnnotations({suite});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 20);
  EXPECT_THAT(text, HasSubstr("::error title=detcheck::and 2 more\n::warning"));
}

TEST(Annotations, HostileTextBeginsNoLine) {
  const std::string text = RenderAnnotations(SuitesOf(VerdictReport("hostile"), ""));
  for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
    const std::string line = text.substr(begin, text.find('\n', begin) - begin);
    EXPECT_TRUE(line.starts_with("::error title=detcheck.") ||
                line.starts_with("::warning title=detcheck."))
        << line;
    EXPECT_EQ(line.find('\r'), std::string::npos);
  }
}

}  // namespace
}  // namespace detcheck
