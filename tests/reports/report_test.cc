#include "reports/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <chrono>

#include "engine/base/error.h"
#include "engine/base/rng.h"
#include "engine/base/sha256.h"
#include "fixtures/canonical_json.h"
#include "reports/diff.h"
#include "reports/report_content.h"
#include "tests/reports/distinct_outputs.h"
#include "tests/reports/rich_report.h"
#include "tests/reports/run_builder.h"

namespace detcheck {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string MessageOf(const std::string& json) {
  try {
    ReportFromJson(json, "r.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInput);
    return error.what();
  }
  return "no error";
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Report, RoundTripIsTheSameBytes) {
  const std::string json = ReportToJson(RichReport());
  const Report back = ReportFromJson(json, "r.json");
  EXPECT_EQ(ReportToJson(back), json);
  EXPECT_EQ(back.plan, RichReport().plan);
  EXPECT_EQ(back.transcript.records[8].completions[1].text,
            RichReport().transcript.records[8].completions[1].text);
  EXPECT_EQ(back.transcript.records[8].completions[1].times.last_token, 1.0 / 3.0);
  EXPECT_EQ(back.judgement.modes[0].requests[0].verdict, Verdict::kFail);
  EXPECT_EQ(back.run.started_utc, "2026-11-29T12:00:00Z");
  EXPECT_EQ(back.facts.page_size, 16);
}

TEST(Report, AnotherLayoutOfTheSameContentIsRead) {
  const std::string json = ReportToJson(RichReport());
  const std::string spaced = Replaced(json, "\"facts\":{", "\"facts\": {");
  EXPECT_EQ(ReportToJson(ReportFromJson(spaced, "r.json")), json);
}

TEST(Report, JudgementOfWhatWasReadIsTheSame) {
  Report back = ReportFromJson(ReportToJson(RichReport()), "r.json");
  const std::string json = ReportToJson(back);
  back.judgement = Judge(back.plan, back.transcript);
  EXPECT_EQ(ReportToJson(back), json);
}

TEST(Report, PartsAreCanonicalAndTheDigestIsOfTheirObject) {
  const ReportContent content(RichReport());
  std::string whole;
  for (const std::string_view name : ReportContent::Names()) {
    if (!content.Has(name)) continue;
    whole += (whole.empty() ? "{\"" : ",\"") + std::string(name) + "\":";
    content.Write(name, [&](std::string_view piece) { whole += piece; });
  }
  whole += "}";
  EXPECT_EQ(CanonicalJson(whole), whole);
  EXPECT_EQ(content.Digest(), Sha256Hex(whole));
  EXPECT_THAT(ReportToJson(RichReport()),
              HasSubstr("\"content_sha256\":\"" + content.Digest() + "\""));
}

TEST(Report, EqualRunsDifferInRunAndTimingsOnly) {
  Report later = RichReport();
  later.run = {"2026-11-30T00:00:00Z", 99.0, false, 3};
  for (StepRecord& record : later.transcript.records) {
    record.started_s = 7.0;
    record.ended_s = 8.0;
    for (Completion& completion : record.completions) completion.times = {1, 2, 3};
  }
  std::string a = ReportToJson(RichReport());
  std::string b = ReportToJson(later);
  EXPECT_NE(a, b);
  for (std::string* text : {&a, &b}) {
    const size_t run = text->find(",\n\"run\":");
    text->erase(run, text->find(",\n", run + 1) - run);
    text->erase(text->find(",\n\"timings\":"));
  }
  EXPECT_EQ(a, b);
}

TEST(Report, DistinctOutputsAreStoredOnce) {
  RunBuilder run = SteadyRun(Says({101, 102, 103}));
  const std::string json = ReportToJson(ReportOf(run));
  const std::string ids = "\"ids\":[101,102,103]";
  EXPECT_THAT(json, HasSubstr("\"outputs\":[{" + ids + "}]"));
  EXPECT_EQ(json.find(ids), json.rfind(ids));
  EXPECT_EQ(json.find("\"chosen\""), json.rfind("\"chosen\""));
}

TEST(Report, HandEditedIsRefused) {
  const std::string json = ReportToJson(RichReport());
  EXPECT_THAT(MessageOf(Replaced(json, "\"verdict\":\"fail\"", "\"verdict\":\"pass\"")),
              HasSubstr("r.json: content digest mismatch: content_sha256 says "));
  EXPECT_THAT(MessageOf(Replaced(json, "[1,2,3,4,5,6,7,8]", "[1,2,3,4,5,6,7,9]")),
              HasSubstr("content digest mismatch"));
  // White space and what changes from run to run are free.
  EXPECT_EQ(MessageOf(Replaced(json, "\"interrupted\":false", "\"interrupted\": false")),
            "no error");
  EXPECT_EQ(MessageOf(Replaced(json, "12.5", "12.75")), "no error");
}

TEST(Report, BadFiles) {
  const std::string json = ReportToJson(RichReport());
  const struct {
    std::string text;
    const char* message;
  } cases[] = {
      {"", "r.json: line 1, column 1: "},
      {"[]", "r.json: "},
      {"{}", "r.json: field \"schema\" is missing"},
      {Replaced(json, "detcheck.report/1", "detcheck.report/2"),
       "r.json: schema: \"detcheck.report/2\" cannot be read here, only \"detcheck.report/1\""},
      {json.substr(0, json.size() / 2), "r.json: line "},
      {Replaced(json, "\"run\":", "\"ran\":"), "r.json: unknown field \"ran\""},
      {Replaced(json, "\"attempt\":0", "\"attempt\":0,\"attempt\":0"), "duplicate field"},
      {Replaced(json, "\"bound\":", "\"bond\":"),
       "r.json: judgement.modes[0]: unknown field \"bond\""},
      {Replaced(json, "\"output\":0", "\"output\":2000"), "items[0].output: 2000 is above "},
      {Replaced(json, "\"record\":8", "\"record\":800"), "record: 800 is above "},
      {Replaced(json, "\"id\":\"q01\",\"reasons\"", "\"id\":\"q77\",\"reasons\""),
       "id: is not the plan's name of that request"},
      {Replaced(json, "\"timings\":[{", "\"timings\":[{\"ended_s\":0,\"started_s\":0},{"),
       "r.json: timings: "},
  };
  for (const auto& test : cases) {
    const std::string message = MessageOf(test.text);
    EXPECT_THAT(message, HasSubstr(test.message));
    EXPECT_THAT(message, Not(HasSubstr("\n")));
  }
}

TEST(Report, EveryTruncationAndManyChangedBytesAreReadOrRefused) {
  const std::string json = ReportToJson(RichReport());
  Rng rng(7);
  for (size_t len = 0; len < json.size(); len += 97) MessageOf(json.substr(0, len));
  for (int i = 0; i < 3000; ++i) {
    std::string changed = json;
    const size_t at = rng.Below(static_cast<uint32_t>(json.size()));
    if (rng.Below(3) == 0) {
      changed.erase(at, 1 + rng.Below(5));
    } else {
      changed[at] = "0123456789\"[]{},:-eaz\\"[rng.Below(22)];
    }
    MessageOf(changed);
  }
}

TEST(Report, LargeReportsAreQuick) {
  const auto seconds = [](auto work) {
    const auto began = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  const Report report = DistinctOutputsReport(11);
  Judgement judgement;
  const double judged = seconds([&] { judgement = Judge(report.plan, report.transcript); });
  EXPECT_EQ(judgement.modes[0].requests[0].unique_samples, 2000);
  std::string json;
  const double written = seconds([&] { json = ReportToJson(report); });
  Report back;
  const double read = seconds([&] { back = ReportFromJson(json, "r.json"); });
  EXPECT_EQ(back.transcript.records[39].completions[49].logprobs,
            report.transcript.records[39].completions[49].logprobs);
  const double compared = seconds([&] { EXPECT_FALSE(DiffReports(report, back).Differ()); });
  // Loose: on an idle machine with an optimised build the bars are 3 s for writing, and 5 s for
  // reading two such reports and comparing them.
  RecordProperty("judged_s", std::to_string(judged));
  RecordProperty("written_s", std::to_string(written));
  RecordProperty("read_s", std::to_string(read));
  RecordProperty("compared_s", std::to_string(compared));
  RecordProperty("bytes", std::to_string(json.size()));
  EXPECT_LT(written, 20.0);
  EXPECT_LT(judged, 20.0);
  EXPECT_LT(read, 40.0);
  EXPECT_LT(compared, 20.0);
}

// With the right digest: what no run wrote all the same.
TEST(Report, MoreAnswersThanTheStepAskedForAreRefused) {
  Report report = ReportOf(SteadyRun(Says({1, 2, 3})));
  report.transcript.records[0].completions.push_back(Says({1, 2, 3}));
  const std::string json = ReportToJson(report);
  EXPECT_EQ(MessageOf(json),
            "r.json: transcript.records[0]: 2 answers or prompts, step 0 has 1 items");
}

}  // namespace
}  // namespace detcheck
