#include "tests/reports/rich_report.h"

namespace detcheck {

namespace {

SupportFinding RichSupport() {
  SupportFinding finding;
  finding.engine = "e";
  finding.version = "1.5";
  finding.attention_backend = "fa";
  finding.releases = "1.0 and later";
  finding.answer = SupportAnswer::kDocumentedUnsupported;
  finding.reason = "radix_cache";
  finding.features = {
      {"radix_cache", FeatureUse::kOn, SupportAnswer::kDocumentedUnsupported, {"guide"}, "not yet"},
      {"cuda_graph", FeatureUse::kUnknown, SupportAnswer::kUndocumented, {}, ""},
      {"chunked_prefill", FeatureUse::kOff, SupportAnswer::kDocumented, {"guide", "test"}, ""}};
  finding.sources = {{"guide", "Guide, 1.0", "https://example.com", "2026-01-31", ""},
                     {"test", "a test", "", "", "Suite.Name"}};
  return finding;
}

}  // namespace

Report ReportOf(const RunBuilder& run) {
  Report report;
  report.run = {"2026-11-29T12:00:00Z", 12.5, false, 0};
  report.harness = {{"detcheck.version", "0.1.0", FieldSource::kObserved}};
  report.subject = {{"engine.name", "detcheck CPU engine", FieldSource::kObserved},
                    {"model.revision", "", FieldSource::kUnknown}};
  report.facts.page_size = 16;
  report.facts.capabilities.logprobs = true;
  report.plan = run.plan();
  report.transcript = run.transcript();
  report.transcript.plan_digest = PlanDigest(report.plan);
  report.transcript.identity = report.transcript.identity_after = std::string(64, 'e');
  JudgeReport(&report);
  return report;
}

Report ReplicaReport(const Completion& first, const Completion& second) {
  Report report = ReportOf(SteadyRun(first));
  const RunBuilder other = SteadyRun(second);
  for (const StepRecord& record : other.transcript().records) {
    report.transcript.records.push_back(record);
    report.transcript.records.back().replica = 1;
  }
  for (const char* label : {"http://127.0.0.1:1", "http://127.0.0.1:2"}) {
    report.replicas.push_back({label, report.subject, report.facts, ""});
  }
  JudgeReport(&report);
  return report;
}

Report RichReport() {
  const Completion answer = Says({1, 2, 3, 4, 5, 6, 7, 8});
  Completion other = WithLogprob(Says({1, 2, 3, 9, 5, 6, 7, 8}), 2, -0.1);
  other.text = std::string("not \xFF UTF-8, \"quoted\"\n");
  RunBuilder run = SteadyRun(answer);
  run.Batch({answer, other, answer});
  run.LastRecord().engine_steps = {{0, 1, {{0, 12, false}, {1, 12, false}, {2, 12, false}}},
                                   {1, 7, {{0, 1, true}, {1, 1, true}, {2, 1, true}}}};
  run.LastRecord().completions[1].times = {0.125, 0.25, 1.0 / 3.0};
  run.Batch({answer, Broken("stream ended: \xC3")});
  run.LastRecord().voided = "a request failed";
  StepRecord again = run.LastRecord();
  again.attempt = 1;
  again.error = "connection refused";
  again.completions.clear();
  run.transcript().records.push_back(again);
  run.plan().unplanned.push_back({Mode::kRadixCache, "the prefix cache is off"});
  run.plan().not_tested.push_back("cold");
  run.transcript().ended_early = "target lost";
  run.transcript().complete = false;
  Report report = ReportOf(run);
  report.support = RichSupport();
  return report;
}

}  // namespace detcheck
