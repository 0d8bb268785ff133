#include "reports/gate_baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "reports/console_words.h"
#include "reports/gate_rows.h"
#include "reports/token_identity.h"
#include "reports/uniqueness.h"

namespace detcheck {
namespace {

constexpr std::array<std::string_view, 17> kSubjectKey = {"model.name",
                                                          "model.id",
                                                          "model.architecture",
                                                          "model.weights_sha256",
                                                          "model.weights_seed",
                                                          "model.tokenizer_sha256",
                                                          "model.tokenizer_digest",
                                                          "model.chat_template_sha256",
                                                          "model.dtype",
                                                          "model.quantization",
                                                          "tokenizer.sha256",
                                                          "parallelism.tp_size",
                                                          "parallelism.pp_size",
                                                          "parallelism.dp_size",
                                                          "parallelism.ep_size",
                                                          "engine.tp_size",
                                                          "engine.kv_cache_dtype"};

constexpr std::array<std::string_view, 8> kHardwareKey = {
    "gpu.name",         "gpu.sm_count",        "gpu.compute_capability",
    "device.gpu_name",  "device.gpu_sm_count", "device.compute_capability",
    "device.cpu_model", "device.simd_level"};

bool IsPortable(const Manifest& subject) {
  return ValueOf(subject, "engine.name") == "detcheck-cpu" &&
         ValueOf(subject, "engine.mode") == "deterministic";
}

// "model.dtype bfloat16, not float32"; empty where the two are the same thing.
std::string KeyDifference(const Manifest& report, const Manifest& baseline) {
  std::vector<std::string_view> names(kSubjectKey.begin(), kSubjectKey.end());
  if (!IsPortable(report) || !IsPortable(baseline)) {
    names.insert(names.end(), kHardwareKey.begin(), kHardwareKey.end());
  }
  for (const std::string_view name : names) {
    const std::string here = ValueOf(report, std::string(name));
    const std::string there = ValueOf(baseline, std::string(name));
    if (here == there) continue;
    return fmt::format("{} is '{}', not '{}'", name, Printable(here), Printable(there));
  }
  return "";
}

std::string CandidatesInWords(const Manifest& report, const Manifest& baseline) {
  std::string words;
  for (const ManifestField& field : baseline) {
    const std::string here = ValueOf(report, field.name);
    if (here == field.value) continue;
    words += fmt::format("    changed: {}: '{}', not '{}'\n", Printable(field.name),
                         Printable(here), Printable(field.value));
  }
  return words.empty() ? "    changed: nothing that the manifests tell\n" : words;
}

GateCase Inconclusive(const std::string& why) {
  GateCase one;
  one.verdict = Verdict::kInconclusive;
  one.kind = ToString(one.verdict);
  one.message = why;
  return one;
}

// Rows of the baseline by request; of several, the one of the same mode is taken.
class Baseline {
 public:
  explicit Baseline(const Report& report) : report_(report), rows_(RowsOf(report)) {
    for (const ReportRow& row : rows_) {
      if (!row.digest.empty()) by_digest_[row.digest].push_back(&row);
    }
  }

  const Report& report() const { return report_; }

  const ReportRow* Find(const ReportRow& row) const {
    const auto it = by_digest_.find(row.digest);
    if (it == by_digest_.end()) return nullptr;
    for (const ReportRow* candidate : it->second) {
      if (candidate->judged->mode == row.judged->mode) return candidate;
    }
    return it->second.front();
  }

 private:
  const Report& report_;
  std::vector<ReportRow> rows_;
  std::map<std::string, std::vector<const ReportRow*>> by_digest_;
};

// By the criterion of the report; empty where the answers are the same.
std::string Difference(const Report& report, const Report& baseline, const Sample& expected,
                       const Sample& actual) {
  const CriterionKind criterion = report.plan.criterion.kind;
  if (IsOfSingleTexts(criterion)) {
    const TextFinding* finding = FindingOf(actual, report.texts);
    if (finding == nullptr) return "there is no text";
    return finding->validity == Validity::kValid ? "" : "the text is not valid: " + finding->why;
  }
  if (criterion == CriterionKind::kText && expected.answer->text && actual.answer->text) {
    return *expected.answer->text == *actual.answer->text ? "" : "texts differ";
  }
  return DifferenceInWords(baseline, expected, actual, criterion == CriterionKind::kBitwise);
}

bool HasTrace(const Sample& sample) {
  return TraceBytes(*sample.answer, IdentityOf({sample})).has_value();
}

GateCase CaseOf(const Report& report, const ReportRow& row, const Baseline& baseline) {
  const ReportRow* golden = baseline.Find(row);
  if (golden == nullptr) return Inconclusive("no matching row in the baseline");
  if (golden->judged->verdict != Verdict::kPass || !golden->reference) {
    return Inconclusive("the baseline's own row did not pass");
  }
  if (!row.reference) return Inconclusive("there is no reference to hold against the baseline");
  if (!AreComparable(*golden->reference->answer, *row.reference->answer)) {
    return Inconclusive("one has token IDs and the other text alone: nothing to compare by");
  }
  if (report.plan.criterion.kind == CriterionKind::kBitwise &&
      HasTrace(*golden->reference) != HasTrace(*row.reference)) {
    return Inconclusive("one has logprobs and the other none: their bits cannot be compared");
  }
  GateCase one;
  one.message = Difference(report, baseline.report(), *golden->reference, *row.reference);
  if (one.message.empty()) return one;
  one.verdict = Verdict::kFail;
  one.kind = "baseline";
  one.message = "not the baseline's answer: " + one.message;
  one.detail = "    Requirement: The same request gets the answer that the baseline has.\n" +
               CandidatesInWords(report.subject, baseline.report().subject);
  return one;
}

}  // namespace

GateSuite CompareWithBaseline(const Report& report, const Report& baseline,
                              const std::string& label) {
  GateSuite suite;
  suite.name = (label.empty() ? "detcheck" : "detcheck." + Printable(label)) + ".baseline";
  suite.started_utc = report.run.started_utc;
  const std::string key = KeyDifference(report.subject, baseline.subject);
  const Baseline golden(baseline);
  std::set<std::string> names;
  for (const ReportRow& row : RowsOf(report)) {
    if (!row.judged->subject) continue;
    GateCase one = key.empty() ? CaseOf(report, row, golden)
                               : Inconclusive("the baseline is of something else: " + key);
    one.name = NameOfMode(*row.mode) + ": " + row.id;
    const std::string name = one.name;
    for (int i = 2; !names.insert(one.name).second; ++i) one.name = fmt::format("{} #{}", name, i);
    suite.cases.push_back(std::move(one));
  }
  if (suite.cases.empty()) {
    suite.cases.push_back(Inconclusive("no row to hold against the baseline"));
    suite.cases.back().name = "(whole run)";
  }
  return suite;
}

}  // namespace detcheck
