#include "reports/support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/rich_report.h"

namespace detcheck {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum SupportAnswer;

SupportStatement Says(const char* feature, SupportAnswer answer) {
  return {.feature = feature, .answer = answer, .sources = {"guide"}, .note = ""};
}

// Releases 1.0 to before 2.0: "fa" with all but the radix cache, 2 ranks at most; 2.0 and later:
// any backend, nothing but the mode.
SupportTable Table() {
  SupportTable table;
  table.engine = "e";
  table.sources = {{"guide", "Guide, 1.0", "https://example.com", "2026-01-31", ""},
                   {"other", "Not cited", "https://example.com/o", "2026-01-31", ""}};
  SupportRange first;
  first.from = "1.0";
  first.before = "2.0";
  first.default_mode = Says("", kDocumentedUnsupported);
  first.default_mode.note = "By design.";
  first.other_backends = Says("", kDocumentedUnsupported);
  SupportStatement ranks = Says("tensor_parallelism", kDocumented);
  ranks.up_to = 2;
  first.rows = {{"fa",
                 {Says("deterministic_mode", kDocumented), Says("chunked_prefill", kDocumented),
                  Says("cuda_graph", kDocumented), Says("radix_cache", kDocumentedUnsupported),
                  Says("non_greedy_sampling", kDocumented), ranks}}};
  SupportRange second;
  second.from = "2.0";
  second.rows = {{"*", {Says("deterministic_mode", kDocumented)}}};
  table.releases = {first, second};
  return table;
}

// All that is documented of "fa" in 1.x.
Manifest Subject() {
  Manifest subject;
  for (const auto& [name, value] : {std::pair{"engine.name", "e"},
                                    {"engine.version", "1.5"},
                                    {"engine.mode", "deterministic"},
                                    {"engine.attention_backend", "fa"},
                                    {"engine.chunked_prefill_size", "256"},
                                    {"engine.cuda_graph", "on"},
                                    {"engine.radix_cache", "off"},
                                    {"engine.speculative_decoding", "off"},
                                    {"parallelism.tp_size", "2"},
                                    {"parallelism.pp_size", "1"},
                                    {"parallelism.dp_size", "1"},
                                    {"parallelism.ep_size", "1"}}) {
    subject.push_back({name, value, FieldSource::kClaimed});
  }
  return subject;
}

Manifest With(const std::string& name, const std::string& value) {
  Manifest subject = Subject();
  for (ManifestField& field : subject) {
    if (field.name == name) field.value = value;
  }
  return subject;
}

SupportFinding Find(const Manifest& subject, bool non_greedy = true) {
  const SupportTable table = Table();
  return LookUpSupport(subject, non_greedy, &table);
}

TEST(Support, WhatIsDocumentedAsAWhole) {
  const SupportFinding finding = Find(Subject());
  EXPECT_EQ(finding.answer, kDocumented);
  EXPECT_EQ(finding.reason, "");
  ASSERT_EQ(finding.sources.size(), 1u) << "what is not cited is not listed";
  EXPECT_EQ(finding.sources[0].id, "guide");
  EXPECT_EQ(SupportInWords(finding), "documented: e 1.5 with fa (1.0 to before 2.0)");
}

TEST(Support, OneFeatureThatIsNotSupportedIsEnough) {
  const SupportFinding finding = Find(With("engine.radix_cache", "on"));
  EXPECT_EQ(finding.answer, kDocumentedUnsupported);
  EXPECT_EQ(finding.reason, "radix_cache");
  EXPECT_EQ(Find(With("parallelism.tp_size", "4")).answer, kDocumentedUnsupported);
  EXPECT_EQ(Find(With("parallelism.tp_size", "4")).reason, "tensor_parallelism");
}

TEST(Support, AFeatureOfWhichNothingIsSaidLeavesTheWholeUndocumented) {
  const SupportFinding finding = Find(With("engine.speculative_decoding", "EAGLE"));
  EXPECT_EQ(finding.answer, kUndocumented);
  EXPECT_EQ(finding.reason, "nothing is said of speculative_decoding");
  EXPECT_EQ(Find(With("parallelism.pp_size", "2")).answer, kUndocumented);
}

TEST(Support, WhatIsNotKnownIsNotTakenForOff) {
  const SupportFinding finding = Find(With("engine.radix_cache", ""));
  EXPECT_EQ(finding.answer, kUndocumented);
  EXPECT_EQ(finding.reason, "nothing is said of radix_cache (not known whether on)");
  EXPECT_EQ(Find(With("engine.cuda_graph", "")).answer, kDocumented) << "documented either way";
  EXPECT_EQ(Find(With("parallelism.dp_size", "")).answer, kUndocumented);
  EXPECT_EQ(Find(With("parallelism.dp_size", "two")).answer, kUndocumented);
}

TEST(Support, OfDefaultModeItsOwnStatementCounts) {
  const SupportFinding finding = Find(With("engine.mode", "default"));
  EXPECT_EQ(finding.answer, kDocumentedUnsupported);
  EXPECT_EQ(finding.reason, "the deterministic mode is off: By design.");
  EXPECT_EQ(finding.sources.size(), 1u);
}

TEST(Support, BackendsWithoutARow) {
  EXPECT_EQ(Find(With("engine.attention_backend", "fb")).answer, kDocumentedUnsupported);
  EXPECT_EQ(Find(With("engine.attention_backend", "")).answer, kUndocumented);
  EXPECT_EQ(Find(With("engine.attention_backend", "")).reason,
            "the attention backend is not known");
}

TEST(Support, ARowOfAnyBackend) {
  const SupportFinding finding = Find(With("engine.version", "2.0.1"));
  EXPECT_EQ(finding.releases, "2.0 and later");
  EXPECT_EQ(finding.answer, kUndocumented);
  EXPECT_EQ(finding.reason,
            "nothing is said of chunked_prefill, cuda_graph, non_greedy_sampling, "
            "tensor_parallelism");
}

TEST(Support, ReleasesEnginesAndTablesThatAreNotThere) {
  EXPECT_EQ(Find(With("engine.version", "0.9")).reason, "nothing is documented of this release");
  EXPECT_EQ(Find(With("engine.version", "")).reason, "the release is not known");
  EXPECT_EQ(Find(With("engine.name", "")).reason, "the engine is not known");
  const SupportFinding none = LookUpSupport(Subject(), false, nullptr);
  EXPECT_EQ(none.answer, kUndocumented);
  EXPECT_EQ(none.reason, "there is no support table of this engine");
}

TEST(Support, GreedyRunsDoNotUseNonGreedySampling) {
  for (const bool non_greedy : {false, true}) {
    for (const FeatureFinding& feature : Find(Subject(), non_greedy).features) {
      if (feature.feature != "non_greedy_sampling") continue;
      EXPECT_EQ(feature.use, non_greedy ? FeatureUse::kOn : FeatureUse::kOff);
    }
  }
}

TEST(Support, Releases) {
  EXPECT_LT(CompareReleases("0.5.3", "0.5.10"), 0);
  EXPECT_EQ(CompareReleases("0.5", "0.5.0"), 0);
  EXPECT_EQ(CompareReleases("v0.11.1", "0.11.1+cu129"), 0);
  EXPECT_EQ(CompareReleases("0.11.1rc2", "0.11.1"), 0);
  EXPECT_GT(CompareReleases("0.5.5.post1", "0.5.5"), 0);
  EXPECT_LT(CompareReleases("0.5.5.post1", "0.5.6"), 0);
  const SupportTable table = Table();
  EXPECT_EQ(FindRange(table, "1.9.9"), &table.releases[0]);
  EXPECT_EQ(FindRange(table, "2"), &table.releases[1]);
  EXPECT_EQ(FindRange(table, "0.9"), nullptr);
  EXPECT_EQ(FindRange(table, "main"), nullptr);
}

TEST(Support, IsInTheReportAndInItsRenderings) {
  Report report = RichReport();
  report.support = Find(With("engine.radix_cache", "on"));
  const std::string json = ReportToJson(report);
  const Report read = ReportFromJson(json, "r.json");
  ASSERT_TRUE(read.support.has_value());
  EXPECT_EQ(SupportToJson(*read.support), SupportToJson(*report.support));
  EXPECT_EQ(ReportToJson(read), json);
  report.support.reset();
  EXPECT_FALSE(ReportFromJson(ReportToJson(report), "r.json").support.has_value());
  EXPECT_THROW(ReportFromJson(json.substr(0, json.find("\"radix_cache\"")) + "\"radiX_cache\"" +
                                  json.substr(json.find("\"radix_cache\"") + 13),
                              "r.json"),
               std::exception)
      << "the digest covers it";
}

}  // namespace
}  // namespace detcheck
