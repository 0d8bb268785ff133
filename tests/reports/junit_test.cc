// Golden files: tests/reports/golden/junit_NAME.xml.

#include "reports/junit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/golden.h"
#include "tests/reports/verdict_reports.h"

namespace detcheck {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class JunitGolden : public testing::TestWithParam<const char*> {};

TEST_P(JunitGolden, IsAsItWas) {
  const std::string name = GetParam();
  ExpectGolden("junit_" + name + ".xml", RenderJunit(SuitesOf(VerdictReport(name), "")));
}

INSTANTIATE_TEST_SUITE_P(Reports, JunitGolden,
                         testing::Values("pass", "fail", "inconclusive", "unsupported", "error",
                                         "fail+error", "hostile"));

TEST(Junit, FixturesThatPrintAlikeHaveNamesOfTheirOwn) {
  Report report = VerdictReport("pass");
  const Mode mode = report.judgement.modes[0].mode;
  for (const char* id : {"a\nb", "a\rb", "a?b"}) {
    PlannedRequest request = report.plan.requests[0];
    request.id = id;
    RequestJudgement judged = report.judgement.modes[0].requests[0];
    judged.mode = mode;
    judged.request = static_cast<int>(report.plan.requests.size());
    report.plan.requests.push_back(request);
    report.judgement.modes[0].requests.push_back(judged);
  }
  const std::string xml = RenderJunit(SuitesOf(report, ""));
  EXPECT_THAT(xml, HasSubstr("name=\"a?b\""));
  EXPECT_THAT(xml, HasSubstr("name=\"a?b #2\""));
  EXPECT_THAT(xml, HasSubstr("name=\"a?b #3\""));
}

TEST(Junit, OnlyCharactersOfXml) {
  GateSuite suite;
  suite.name = "s";
  GateCase one;
  one.name = std::string("\x01\t\xEF\xBF\xBF\xFF<&>\"\n", 11);
  one.verdict = Verdict::kFail;
  one.detail = "]]>\x1b\r\n";
  suite.cases.push_back(one);
  const std::string xml = RenderJunit({suite});
  EXPECT_THAT(xml, HasSubstr("name=\"\xEF\xBF\xBD&#9;\xEF\xBF\xBD\xEF\xBF\xBD&lt;&amp;&gt;&quot;"
                             "&#10;\""));
  EXPECT_THAT(xml, HasSubstr("]]&gt;\xEF\xBF\xBD&#13;\n"));
  EXPECT_THAT(xml, Not(HasSubstr("\x1b")));
}

TEST(Junit, WhatDoesNotDecideFailsNoJob) {
  const std::string xml = RenderJunit(SuitesOf(VerdictReport("unclaimed"), ""));
  EXPECT_THAT(xml, HasSubstr("tests=\"5\" failures=\"0\" errors=\"0\""));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"fail (does not decide): "));
  EXPECT_THAT(xml, HasSubstr("<property name=\"detcheck.scope.batch\" value=\"3 distinct batches"));
}

TEST(Junit, NoSuites) {
  EXPECT_THAT(RenderJunit({}), HasSubstr("tests=\"0\" failures=\"0\""));
}

// The verdict of a whole is never lost: what no fixture tells, the mode or the run does.
TEST(GateCases, TogetherHaveTheVerdictOfTheReport) {
  for (const auto& [name, report] : VerdictReports()) {
    Verdict worst = Verdict::kPass;
    for (const GateSuite& suite : SuitesOf(report, "")) {
      for (const GateCase& one : suite.cases) {
        if (one.decides) worst = Worse(worst, one.verdict);
        EXPECT_TRUE(one.verdict == Verdict::kPass || !one.message.empty()) << name;
      }
    }
    EXPECT_EQ(worst, report.judgement.verdict) << name;
  }
}

}  // namespace
}  // namespace detcheck
