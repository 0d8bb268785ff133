#include "reports/gate_protocol.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/fixtures/error_of.h"
#include "tests/reports/rich_report.h"
#include "tests/reports/run_builder.h"

namespace detcheck {
namespace {

Protocol Declares(const std::string& criterion, const std::string& scope = R"("batch")") {
  return ProtocolFromJson(R"({"schema":"detcheck.protocol/1","name":"mine","modes":["single"],)"
                          R"("criterion":")" +
                              criterion + R"(","required_scope":[)" + scope + "]}",
                          "p.json");
}

// Of a run as `protocol` declares it.
Report RunBy(const Protocol& protocol) {
  RunBuilder run = SteadyRun(Says({1, 2, 3}));
  run.plan().criterion = protocol.settings.criterion;
  run.plan().required_scope = protocol.settings.required_scope;
  run.plan().modes_named = true;
  Report report = ReportOf(run);
  report.protocol = protocol;
  JudgeReport(&report);
  return report;
}

std::string Refusal(const Report& report, const Protocol* expected) {
  return ErrorOf([&] { RequireProtocol(report, "r.json", expected); }, ErrorCode::kInput);
}

TEST(GateProtocol, AReportThatWasRunByIt) {
  const Protocol protocol = Declares("token_ids");
  EXPECT_EQ(Refusal(RunBy(protocol), &protocol), "no error");
  EXPECT_EQ(Refusal(RunBy(protocol), nullptr), "no error");
  EXPECT_EQ(Refusal(ReportOf(SteadyRun(Says({1}))), nullptr), "no error");
}

TEST(GateProtocol, ReportsKeepTheirs) {
  const Report report = RunBy(Declares("token_ids"));
  const std::string json = ReportToJson(report);
  const Report read = ReportFromJson(json, "r.json");
  ASSERT_TRUE(read.protocol);
  EXPECT_EQ(read.protocol->json, report.protocol->json);
  EXPECT_EQ(
      read.scope.held.back(),
      (ScopeFact{"protocol", "mine (" + ProtocolDigest(*read.protocol).substr(0, 12) + "…)"}));
  EXPECT_EQ(read.protocol->settings.criterion.kind, CriterionKind::kTokenIds);
  EXPECT_EQ(ReportToJson(read), json);
  EXPECT_EQ(Refusal(read, nullptr), "no error");
}

TEST(GateProtocol, ARunByNone) {
  const Protocol protocol = Declares("bitwise");
  EXPECT_EQ(Refusal(ReportOf(SteadyRun(Says({1}))), &protocol),
            "r.json: protocol: was run by none, not by mine");
}

TEST(GateProtocol, AShardAlone) {
  const Protocol protocol = Declares("bitwise");
  Report report = RunBy(protocol);
  report.plan.shard = Shard{2, 3, {0}};
  EXPECT_EQ(Refusal(report, &protocol), "r.json: plan.shard: is shard 2 of 3: merge them first");
  report.protocol.reset();
  EXPECT_EQ(Refusal(report, nullptr), "r.json: plan.shard: is shard 2 of 3: merge them first");
}

TEST(GateProtocol, AFileOfFixturesThatWasChangedUnderItsName) {
  Protocol declared = ProtocolFromJson(
      R"({"schema":"detcheck.protocol/1","name":"mine","modes":["single"],"fixtures":["f.json"],)"
      R"("criterion":"bitwise","required_scope":[]})",
      "p.json");
  const Report earlier = RunBy(declared);
  declared.fixture_files["f.json"] = std::string(64, 'a');
  const Report report = RunBy(declared);
  const Report read = ReportFromJson(ReportToJson(report), "r.json");
  EXPECT_EQ(read.protocol->fixture_files, declared.fixture_files);
  EXPECT_EQ(ReportToJson(read), ReportToJson(report));
  EXPECT_EQ(Refusal(read, &declared), "no error");
  declared.fixture_files["f.json"] = std::string(64, 'b');
  EXPECT_EQ(Refusal(read, &declared),
            "r.json: protocol.fixture_files: f.json was another (aaaaaaaaaaaa…, now "
            "bbbbbbbbbbbb…)");
  const Report old = ReportFromJson(ReportToJson(earlier), "old.json");
  EXPECT_EQ(Refusal(old, nullptr), "no error") << "reports of earlier versions are read";
  EXPECT_EQ(Refusal(old, &declared),
            "r.json: protocol.fixture_files: do not tell what was in f.json");
}

TEST(GateProtocol, ACriterionThatWasChangedAfterwards) {
  const Protocol declared = Declares("bitwise");
  const Protocol weaker = Declares("token_ids");
  const std::string error = Refusal(RunBy(weaker), &declared);
  EXPECT_TRUE(error.starts_with("r.json: judgement: by the criterion token_ids (")) << error;
  EXPECT_NE(error.find("the protocol's is bitwise ("), std::string::npos) << error;

  Report edited = RunBy(declared);
  edited.plan.criterion.kind = CriterionKind::kTokenIds;
  JudgeReport(&edited);
  EXPECT_TRUE(
      Refusal(edited, nullptr).starts_with("r.json: judgement: by the criterion token_ids"));
}

TEST(GateProtocol, ASchemaThatWasChangedUnderItsName) {
  Protocol declared = Declares("json_schema:schemas/answer.json");
  Report report = RunBy(declared);
  declared.settings.criterion = {CriterionKind::kJsonSchema, "answer.json", "true"};
  report.plan.criterion = declared.settings.criterion;
  JudgeReport(&report);
  EXPECT_EQ(Refusal(report, nullptr), "no error");
  EXPECT_EQ(Refusal(report, &declared), "no error");
  declared.settings.criterion.schema = "{}";
  EXPECT_TRUE(Refusal(report, &declared).starts_with("r.json: judgement: by the criterion json"));
  report.plan.criterion.argument = "other.json";
  EXPECT_TRUE(Refusal(report, nullptr).starts_with("r.json: judgement: by the criterion json"));
}

TEST(GateProtocol, AnotherProtocolOfTheSameCriterion) {
  const Protocol wanted = Declares("bitwise", R"("batch","restart")");
  const Protocol used = Declares("bitwise");
  const std::string error = Refusal(RunBy(used), &wanted);
  EXPECT_TRUE(error.starts_with("r.json: protocol.sha256: was run by mine (")) << error;
}

TEST(GateProtocol, APlanThatIsNotTheProtocols) {
  const Protocol protocol = Declares("bitwise");
  Report report = RunBy(protocol);
  report.plan.required_scope.clear();
  EXPECT_EQ(Refusal(report, &protocol), "r.json: plan.required_scope: is not the protocol's");
  report = RunBy(protocol);
  report.plan.modes_named = false;
  EXPECT_EQ(Refusal(report, &protocol), "r.json: plan.modes: are not those of the protocol");
  report = RunBy(protocol);
  report.plan.modes = {Mode::kBatch};
  EXPECT_EQ(Refusal(report, &protocol), "r.json: plan.modes: are not those of the protocol");
}

// Not covered is not refused: the judgement says it.
TEST(GateProtocol, WhatIsRequiredAndNotShown) {
  const Protocol protocol = Declares("bitwise", R"("batch","restart")");
  const Report report = RunBy(protocol);
  EXPECT_EQ(Refusal(report, &protocol), "no error");
  EXPECT_EQ(report.judgement.verdict, Verdict::kInconclusive);
}

TEST(GateProtocol, ReportsThatAreWrong) {
  const Report report = RunBy(Declares("bitwise"));
  const auto error_of = [&](const std::string& from, const std::string& to) {
    std::string json = ReportToJson(report);
    const size_t at = json.find(from);
    EXPECT_NE(at, std::string::npos);
    json.replace(at, from.size(), to);
    return ErrorOf([&] { ReportFromJson(json, "r.json"); }, ErrorCode::kInput);
  };
  EXPECT_EQ(
      error_of("\"content\":{\"criterion\":\"bitwise\"", "\"content\":{\"criterion\":\"text\""),
      "r.json: protocol.sha256: is not of the content");
  EXPECT_EQ(error_of("\"modes\":[\"single\"],\"name\"", "\"modes\":[\"chunked\"],\"name\""),
            "r.json: protocol: modes[0]: \"chunked\" is none of single, batch, mixed, prefix, "
            "radix_cache, p_vs_d, seeds, history");
  EXPECT_EQ(error_of("\"criterion_sha256\":\"", "\"criterion_sha256\":\"0"),
            "r.json: judgement.criterion_sha256: is not of the plan's criterion");
}

}  // namespace
}  // namespace detcheck
