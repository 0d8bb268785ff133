// Golden files: tests/reports/golden/annotations_NAME.txt.

#include "reports/annotations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/reports/golden.h"
#include "tests/reports/verdict_reports.h"

namespace detcheck {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

GateCase CaseOf(const std::string& name, Verdict verdict, const std::string& message) {
  GateCase one;
  one.name = name;
  one.verdict = verdict;
  one.message = message;
  return one;
}

TEST(Annotations, OnlyTheScopeWhereAllPassed) {
  const std::string text = RenderAnnotations(SuitesOf(VerdictReport("pass"), ""));
  EXPECT_TRUE(text.starts_with("::notice title=detcheck.run%3A scope::run_to_run: 4 repeats"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST(Annotations, WhatDoesNotDecideIsNoError) {
  const std::string text = RenderAnnotations(SuitesOf(VerdictReport("unclaimed"), ""));
  EXPECT_EQ(text.find("::error"), std::string::npos);
  EXPECT_THAT(text, HasSubstr("::warning title=detcheck.p_vs_d%3A q01::fail (does not decide): "));
}

class AnnotationsGolden : public testing::TestWithParam<const char*> {};

TEST_P(AnnotationsGolden, AreAsTheyWere) {
  const std::string name = GetParam();
  ExpectGolden("annotations_" + name + ".txt",
               RenderAnnotations(SuitesOf(VerdictReport(name), "")));
}

INSTANTIATE_TEST_SUITE_P(Reports, AnnotationsGolden,
                         testing::Values("fail", "inconclusive", "unsupported", "error",
                                         "fail+error", "hostile"));

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
                line.starts_with("::warning title=detcheck.") ||
                line.starts_with("::notice title=detcheck."))
        << line;
    EXPECT_EQ(line.find('\r'), std::string::npos);
  }
}

}  // namespace
}  // namespace detcheck
