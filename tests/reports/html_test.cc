// Golden files: tests/reports/html_golden/NAME.txt, the outline of a page, and data_NAME.txt, what
// its script reads.

#include "reports/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/sha256.h"
#include "fixtures/json_reader.h"
#include "reports/base64.h"
#include "reports/console_failure.h"
#include "reports/console_words.h"
#include "tests/reports/golden.h"
#include "tests/reports/html_fixture.h"
#include "tests/reports/rich_report.h"
#include "tests/reports/verdict_reports.h"

namespace detcheck {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// What stands between the first `begin` and the next `end`.
std::string Between(const std::string& text, std::string_view begin, std::string_view end) {
  const size_t from = text.find(begin);
  if (from == text.npos) return "nothing begins with " + std::string(begin);
  const size_t to = text.find(end, from + begin.size());
  return text.substr(from + begin.size(), to - from - begin.size());
}

std::string DataOf(const std::string& page) {
  return Between(page, "<script type=\"application/json\" id=\"data\">", "</script>");
}

std::string BodyOf(const std::string& page) {
  return Between(page, "<main id=\"main\">", "</main>");
}

size_t CountOf(const std::string& text, std::string_view what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// Whether the text of such an element is the page's own, not a sentence of the judgement.
bool IsOwnText(const std::string& tag) {
  constexpr std::string_view kSentences[] = {"dd", "li", "p", "td", "span class=\"short\""};
  return std::none_of(std::begin(kSentences), std::end(kSentences),
                      [&](std::string_view start) { return tag.substr(0, start.size()) == start; });
}

// One line for each element and each text of the page's own, indented by depth; without what is in
// a failure's list, which is the console's. Fails where elements are not closed in order.
std::string Outline(const std::string& html) {
  std::string outline;
  std::vector<std::string> open;
  size_t failure_depth = std::string::npos;
  const auto add = [&](const std::string& line) {
    if (open.size() < failure_depth) outline += std::string(2 * open.size(), ' ') + line + "\n";
  };
  for (size_t at = 0; at < html.size();) {
    const size_t tag = std::min(html.find('<', at), html.size());
    const std::string text = html.substr(at, tag - at);
    const bool is_blank = text.find_first_not_of(" \n") == text.npos;
    if (!is_blank && (open.empty() || IsOwnText(open.back()))) add(text);
    if (tag == html.size()) break;
    const size_t end = html.find('>', tag);
    const std::string inside = html.substr(tag + 1, end - tag - 1);
    at = end + 1;
    if (inside.front() != '/') {
      add("<" + inside + ">");
      open.push_back(inside);
      if (inside == "dl class=\"facts failure\"") failure_depth = open.size();
      continue;
    }
    EXPECT_EQ(open.empty() ? "" : open.back().substr(0, open.back().find(' ')), inside.substr(1));
    if (!open.empty()) open.pop_back();
    if (open.size() < failure_depth) failure_depth = std::string::npos;
  }
  EXPECT_THAT(open, IsEmpty());
  return outline;
}

// A line for each object.
std::string Lines(std::string json) {
  for (size_t at = 0; (at = json.find('{', at)) != json.npos; at += 2) json.insert(at, "\n");
  return json + '\n';
}

void ExpectPage(const std::string& name, const Report& report) {
  const std::string page = RenderHtml(report);
  ExpectGolden(name + ".txt", Outline(BodyOf(page)));
  ExpectGolden("data_" + name + ".txt", Lines(DataOf(page)));
}

TEST(Html, Pass) {
  ExpectPage("pass", ReportOf(SteadyRun(Says({1, 2, 3, 4}))));
}

TEST(Html, Fail) {
  ExpectPage("fail", DivergingReport());
}

TEST(Html, EveryKindOfThing) {
  ExpectPage("rich", RichReport());
}

TEST(Html, Inconclusive) {
  ExpectPage("inconclusive", VerdictReport("inconclusive"));
}

TEST(Html, Hostile) {
  ExpectPage("hostile", VerdictReport("hostile"));
}

TEST(Html, SaysOfAFailureWhatTheConsoleSays) {
  const Report report = DivergingReport();
  const RequestJudgement& request = report.judgement.modes[0].requests[0];
  const std::string body = BodyOf(RenderHtml(report));
  EXPECT_THAT(body,
              HasSubstr("<dt>Cause</dt>\n<dd>numeric: logprobs differ at or before the token"));
  EXPECT_THAT(body, HasSubstr("<dt>Next</dt>\n<dd>detcheck single --fixture q01"));
  EXPECT_THAT(body, HasSubstr(CountsOf(request)));
  EXPECT_THAT(body, HasSubstr(SummaryOfFailure(request)));
  const std::string lines = RenderFailure(report, request);
  EXPECT_EQ(CountOf(Between(body, "<dl class=\"facts failure\">", "</dl>"), "<dt>"),
            CountOf(lines, "\n"));
}

TEST(Html, NothingWasRun) {
  Report report;
  JudgeReport(&report);
  const std::string page = RenderHtml(report);
  EXPECT_THAT(page, HasSubstr("Not shown either way. nothing was run"));
  EXPECT_NO_THROW(JsonDocument(DataOf(page), ""));
}

TEST(Html, HasCompanyInAFold) {
  RunBuilder run = SteadyRun(Says({1, 2, 3, 4}));
  const int neighbour = run.AddRequest("n01");
  for (const TokenId last : {8, 9}) {
    run.Batch({Says({1, 2, 3, 4}), Says({5, 5, last})});
    run.LastStep().items[1].request = neighbour;
    run.LastStep().items[1].subject = false;
    run.LastRecord().prompt_digests.clear();
  }
  const std::string body = BodyOf(RenderHtml(ReportOf(run)));
  EXPECT_THAT(body, HasSubstr("Company: 1 neighbour, 1 with divergences"));
  EXPECT_THAT(body, HasSubstr("Nondeterminism found: neighbours diverged; the first is n01"));
}

TEST(Html, NeedsNothingFromOutside) {
  for (const Report& report : {DivergingReport(), RichReport()}) {
    const std::string page = RenderHtml(report);
    EXPECT_THAT(page, Not(HasSubstr("http:")));
    EXPECT_THAT(page, Not(HasSubstr("https:")));
    EXPECT_THAT(page, Not(HasSubstr(" src=")));
    EXPECT_THAT(page, Not(HasSubstr("@import")));
  }
}

TEST(Html, PolicyNamesItsOwnStyleAndScriptOnly) {
  const std::string page = RenderHtml(DivergingReport());
  const std::string policy = Between(page, "Content-Security-Policy\" content=\"", "\">");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  for (const std::string& text : {Between(page, "<style>", "</style>"),
                                  Between(page, "<script type=\"module\">", "</script>")}) {
    const std::string hex = Sha256Hex(text);
    std::string bytes;
    for (size_t i = 0; i < hex.size(); i += 2) {
      bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    }
    EXPECT_THAT(policy, HasSubstr("'sha256-" + Base64(bytes) + "'"));
  }
}

TEST(Html, HostileTextStaysText) {
  const std::string page = RenderHtml(HostileReport());
  EXPECT_EQ(CountOf(page, "<script"), 2U);
  EXPECT_EQ(CountOf(page, "</script"), 2U);
  EXPECT_EQ(CountOf(page, "{{"), 0U + CountOf(DataOf(page), "{{"));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
  EXPECT_THAT(BodyOf(page), HasSubstr("q01 &lt;img src=x onerror=&quot;window.executed"));
  EXPECT_THAT(DataOf(page), Not(HasSubstr("<")));
  EXPECT_THAT(DataOf(page), HasSubstr("\\u003cimg src=x"));
  Outline(BodyOf(page));
}

TEST(Html, ControlCharactersAndBrokenUtf8) {
  Completion answer = Says({1, 2, 3, 4});
  answer.text = std::string("left \0 \xFF", 8);
  Completion other = Says({1, 2, 9, 4});
  other.text = "left \x1b[2J";
  RunBuilder run = SteadyRun(answer);
  run.Batch({answer, other});
  run.plan().requests[0].id =
      "a\x1b"
      "b";
  const std::string page = RenderHtml(ReportOf(run));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
  EXPECT_THAT(page, Not(HasSubstr("\xFF")));
  EXPECT_EQ(page.find('\0'), page.npos);
  EXPECT_THAT(BodyOf(page), HasSubstr("a?b"));
  EXPECT_THAT(DataOf(page), HasSubstr("? \xEF\xBF\xBD"));
}

TEST(Html, DataSaysWhereAnswersPart) {
  const JsonDocument data(DataOf(RenderHtml(DivergingReport())), "");
  const JsonValue cell = data.Root().At("cells")[0];
  EXPECT_EQ(cell.At("reference").Int(0, 100), 0);
  std::vector<std::string> names;
  std::vector<int> counts;
  for (const JsonValue& variant : cell.At("variants").Items()) {
    names.push_back(variant.At("name").String());
    counts.push_back(variant.At("count").Int(1, 100));
  }
  EXPECT_THAT(names, ElementsAre("A1", "A2", "A3", "B"));
  EXPECT_THAT(counts, ElementsAre(19, 8, 2, 8));
  const JsonValue drifts = cell.At("variants")[1];
  EXPECT_FALSE(drifts.Find("index"));
  EXPECT_EQ(drifts.At("lp_index").Int(0, 100), 17);
  const JsonValue other = cell.At("variants")[3];
  EXPECT_EQ(other.At("index").Int(0, 100), 9);
  EXPECT_EQ(other.At("lp_index").Int(0, 100), 4);
  EXPECT_EQ(other.At("text")[1].String(), "fox jumps over the lazy dog");
  EXPECT_EQ(other.At("text")[2].String(), "hare jumps over the lazy dog");
  EXPECT_EQ(cell.At("samples").At("where").Size(), 37U);
  EXPECT_EQ(cell.At("samples").At("len")[18].Int(0, 100), 6);
}

TEST(Html, DistinctOutputsAreKeptOnce) {
  const std::string page = RenderHtml(LargeReport(1000));
  const JsonDocument data(DataOf(page), "");
  EXPECT_EQ(data.Root().At("outputs").Size(), 3U);
  EXPECT_EQ(data.Root().At("traces").Size(), 3U);
  EXPECT_LT(page.size(), 300'000U);
}

}  // namespace
}  // namespace detcheck
