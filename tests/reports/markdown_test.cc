// Golden files: tests/reports/golden/summary_NAME.md.

#include "reports/markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/golden.h"
#include "tests/reports/verdict_reports.h"

namespace detcheck {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class MarkdownGolden : public testing::TestWithParam<const char*> {};

TEST_P(MarkdownGolden, IsAsItWas) {
  const std::string name = GetParam();
  ExpectGolden("summary_" + name + ".md", RenderMarkdown(VerdictReport(name), ""));
}

INSTANTIATE_TEST_SUITE_P(Reports, MarkdownGolden,
                         testing::Values("pass", "fail", "inconclusive", "unsupported", "error",
                                         "hostile"));

// Outside of code blocks nothing foreign is left that could be markup; inside, no line ends one.
TEST(Markdown, HostileTextStaysText) {
  const std::string text = RenderMarkdown(VerdictReport("hostile"), HostileText());
  bool is_block = false;
  for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
    const std::string line = text.substr(begin, text.find('\n', begin) - begin);
    if (line.starts_with("```")) {
      EXPECT_EQ(line, is_block ? "```" : "```text");
      is_block = !is_block;
    } else if (is_block) {
      EXPECT_TRUE(line.starts_with("    ")) << line;
    } else {
      EXPECT_THAT(line, Not(HasSubstr("<script")));
      EXPECT_THAT(line, Not(HasSubstr("`")));
      EXPECT_THAT(line, Not(HasSubstr("@someone")));
      EXPECT_THAT(line, Not(HasSubstr("https:")));
    }
    EXPECT_EQ(line.find('\r'), std::string::npos);
  }
  EXPECT_FALSE(is_block);
}

TEST(Markdown, FitsAJobSummary) {
  Report report = VerdictReport("fail");
  const RequestJudgement failed = report.judgement.modes[0].requests[0];
  for (int i = 0; i < 5000; ++i) report.judgement.modes[0].requests.push_back(failed);
  for (int i = 0; i < 5000; ++i) report.plan.not_tested.push_back(std::string(500, 'x'));
  const std::string text = RenderMarkdown(report, "");
  EXPECT_LE(text.size(), kMaxSummaryBytes);
  EXPECT_GT(text.size(), kMaxSummaryBytes * 9 / 10);
  EXPECT_THAT(text, HasSubstr("entries are left out: a job summary holds no more."));
  EXPECT_THAT(text, HasSubstr("### Scope"));
  EXPECT_LE(RenderMarkdown(report, "", 4096).size(), 4096u);
}

TEST(Markdown, ALongTextIsCutAtACharacter) {
  GateSuite suite;
  suite.name = "s";
  GateCase one;
  one.name = std::string(999, 'x') + "\xC3\xA9\xC3\xA9";
  one.verdict = Verdict::kInconclusive;
  suite.cases.push_back(one);
  EXPECT_THAT(RenderMarkdown("Baseline", {suite}), HasSubstr("xx…</code>"));
}

}  // namespace
}  // namespace detcheck
