#include "reports/gate_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "reports/console_failure.h"
#include "reports/console_words.h"
#include "reports/scope_text.h"

namespace detcheck {
namespace {

// The time of every step goes to the first subject that it has.
std::map<int, double> SecondsByRequest(const Report& report, const ModeJudgement& mode) {
  std::map<int, double> seconds;
  for (const StepRecord& record : report.transcript.records) {
    const Step& step = report.plan.steps[record.step];
    if (step.mode != mode.mode || record.replica != mode.replica.value_or(record.replica)) continue;
    for (const PlannedItem& item : step.items) {
      if (!item.subject) continue;
      seconds[item.request] += std::max(0.0, record.ended_s - record.started_s);
      break;
    }
  }
  return seconds;
}

std::string Joined(const std::vector<std::string>& reasons) {
  std::string text;
  for (const std::string& reason : reasons) text += (text.empty() ? "" : "; ") + Printable(reason);
  return text;
}

std::string Lines(const std::vector<std::string>& reasons) {
  std::string text;
  for (const std::string& reason : reasons) text += "    " + Printable(reason) + '\n';
  return text;
}

GateCase CaseOf(const Report& report, const RequestJudgement& request) {
  GateCase one;
  one.name = Printable(report.plan.requests[request.request].id);
  if (!request.subject) one.name += " (neighbour)";
  one.verdict = request.verdict;
  one.kind = ToString(request.verdict);
  if (request.verdict == Verdict::kFail) {
    one.kind = request.cause == Cause::kNone ? "invalid" : ToString(request.cause);
    one.message = SummaryOfFailure(request);
    one.detail = RenderFailure(report, request) + "    " + CountsOf(request) + '\n';
  } else if (request.verdict != Verdict::kPass) {
    one.message = Joined(request.reasons);
    one.detail = Lines(request.reasons) + "    " + CountsOf(request) + '\n';
  } else {
    one.detail = "    " + CountsOf(request) + '\n';
  }
  return one;
}

// What is judged of a mode or a run as a whole. Where the other cases tell its verdict, it passes.
GateCase CaseOfWhole(const std::string& name, Verdict verdict,
                     const std::vector<std::string>& reasons, Verdict told) {
  GateCase one;
  one.name = name;
  if (Worse(told, verdict) == told) return one;
  one.verdict = verdict;
  one.kind = ToString(verdict);
  one.message = Joined(reasons);
  one.detail = Lines(reasons);
  return one;
}

Verdict WorstOf(const GateSuite& suite) {
  Verdict worst = Verdict::kPass;
  for (const GateCase& one : suite.cases) {
    if (one.decides) worst = Worse(worst, one.verdict);
  }
  return worst;
}

bool IsListed(const RequestJudgement& request) {
  return request.subject || request.verdict == Verdict::kFail || request.verdict == Verdict::kError;
}

// Two fixtures may have names that print alike.
void MakeNamesUnique(GateSuite* suite) {
  std::set<std::string> taken;
  for (GateCase& one : suite->cases) {
    const std::string name = one.name;
    for (int i = 2; !taken.insert(one.name).second; ++i) one.name = fmt::format("{} #{}", name, i);
  }
}

GateSuite SuiteOf(const Report& report, const ModeJudgement& mode, const std::string& prefix) {
  GateSuite suite;
  suite.name = prefix + '.' + SlugOfMode(mode);
  suite.started_utc = report.run.started_utc;
  const std::map<int, double> seconds = SecondsByRequest(report, mode);
  for (const RequestJudgement& request : mode.requests) {
    if (!IsListed(request)) continue;
    suite.cases.push_back(CaseOf(report, request));
    const auto it = seconds.find(request.request);
    if (request.subject && it != seconds.end()) suite.cases.back().duration_s = it->second;
  }
  suite.cases.push_back(CaseOfWhole("(whole mode)", mode.verdict, mode.reasons, WorstOf(suite)));
  for (GateCase& one : suite.cases) one.decides = mode.decides;
  suite.properties = {
      {"detcheck.criterion", Printable(ToString(report.plan.criterion))},
      {"detcheck.criterion_sha256", report.judgement.criterion_digest},
      {"detcheck.distinct_batches", fmt::format("{}", mode.num_batches)},
      {"detcheck.formed_sizes", fmt::format("{}", fmt::join(mode.formed_sizes, " "))}};
  for (const ManifestField& field : report.subject) {
    if (!field.value.empty()) suite.properties.emplace_back(field.name, field.value);
  }
  MakeNamesUnique(&suite);
  return suite;
}

}  // namespace

std::vector<GateSuite> SuitesOf(const Report& report, const std::string& label) {
  const std::string prefix = label.empty() ? "detcheck" : "detcheck." + Printable(label);
  std::vector<GateSuite> suites;
  Verdict told = Verdict::kPass;
  for (const ModeJudgement& mode : report.judgement.modes) {
    suites.push_back(SuiteOf(report, mode, prefix));
    told = Worse(told, WorstOf(suites.back()));
  }
  GateSuite run;
  run.name = prefix + ".run";
  run.started_utc = report.run.started_utc;
  for (const auto& [name, text] : ScopeParts(report.scope)) {
    run.properties.emplace_back(std::string(kScopeProperty) + name, Printable(text));
  }
  run.cases.push_back(
      CaseOfWhole("(whole run)", report.judgement.verdict, report.judgement.reasons, told));
  suites.push_back(std::move(run));
  return suites;
}

std::string VerdictInWords(const GateCase& one) {
  return ToString(one.verdict) +
         (one.decides || one.verdict == Verdict::kPass ? "" : " (does not decide)");
}

}  // namespace detcheck
