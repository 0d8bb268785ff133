#include "tests/reports/verdict_reports.h"

#include "engine/base/error.h"
#include "tests/reports/rich_report.h"

namespace detcheck {
namespace {

const Completion kAnswer = Says({1, 2, 3, 4, 5, 6, 7, 8});

RunBuilder Failing() {
  RunBuilder run = SteadyRun(kAnswer);
  std::vector<Completion> answers(16, kAnswer);
  answers[3] = WithLogprob(Says({1, 2, 3, 900, 5, 6, 7, 8}), 2, -0.53125);
  run.Batch(answers);
  return run;
}

// A batch that never formed.
void AddUnformed(RunBuilder* run) {
  run->Batch(std::vector<Completion>(33, kAnswer));
  for (Completion& answer : run->LastRecord().completions) answer.witness.formed_size = 8;
}

void AddTrouble(RunBuilder* run) {
  run->Batch({kAnswer, Broken("503 overloaded")});
}

Report Unsupported() {
  RunBuilder run;
  run.plan().modes.clear();
  run.plan().requests.clear();
  run.plan().prompts.clear();
  run.plan().unplanned.push_back({Mode::kRadixCache, "the prefix cache is off"});
  return ReportOf(run);
}

Report PassAndUnsupported(bool modes_named) {
  RunBuilder run = SteadyRun(kAnswer);
  run.plan().unplanned.push_back({Mode::kRadixCache, "the prefix cache is off"});
  run.plan().modes_named = modes_named;
  return ReportOf(run);
}

// Decoding does not give what prefill gives, and the target does not claim that it does.
Report PrefillDiffers() {
  RunBuilder run = SteadyRun(kAnswer);
  run.BeginMode(Mode::kPvsD);
  run.Solos(2, Arm::kControlCold, kAnswer);
  PlannedRequest scored = run.plan().requests[0];
  scored.id = "q01+answer";
  scored.prompt.push_back(AnswerSlice{static_cast<int>(run.plan().steps.size()) - 1, 0, 0, 8});
  run.plan().requests.push_back(scored);
  Step step;
  step.kind = StepKind::kScore;
  step.mode = Mode::kPvsD;
  step.cache = CacheState::kAny;
  step.score_request = 1;
  for (int i = 0; i < 2; ++i) {
    StepRecord record;
    record.scores.assign(19, {-0.75, {}});
    run.Add(step, record);
  }
  return ReportOf(run);
}

// Ended before its first step.
Report Nothing() {
  RunBuilder run;
  run.plan().steps.push_back(run.BatchOf(1));
  run.transcript().complete = false;
  run.transcript().ended_early = "interrupted";
  return ReportOf(run);
}

Report Hostile() {
  RunBuilder run = Failing();
  run.plan().requests[0].id = HostileText();
  run.LastStep().label = HostileText();
  AddUnformed(&run);
  run.LastStep().label = HostileText();
  run.plan().not_tested = {HostileText()};
  Report report = ReportOf(run);
  report.subject.push_back({"model.name", HostileText(), FieldSource::kClaimed});
  return report;
}

}  // namespace

std::string HostileText() {
  return "a|b `c`\n```\n| x |\r\n</code><script>alert(1)</script> ]]> <!-- & \"q\" 'p' "
         "\x1b[31m \xC2\x9B \xEF\xBF\xBE @someone https://example.com "
         "::error title=x::y %0A ${{ z }} \\";
}

std::vector<std::pair<std::string, Report>> VerdictReports() {
  RunBuilder inconclusive = SteadyRun(kAnswer);
  AddUnformed(&inconclusive);
  RunBuilder error = SteadyRun(kAnswer);
  AddTrouble(&error);
  RunBuilder fail_error = Failing();
  AddTrouble(&fail_error);
  RunBuilder fail_inconclusive = Failing();
  AddUnformed(&fail_inconclusive);
  RunBuilder error_inconclusive = SteadyRun(kAnswer);
  AddTrouble(&error_inconclusive);
  AddUnformed(&error_inconclusive);
  return {{"pass", ReportOf(SteadyRun(kAnswer))},
          {"fail", ReportOf(Failing())},
          {"inconclusive", ReportOf(inconclusive)},
          {"unsupported", Unsupported()},
          {"error", ReportOf(error)},
          {"fail+error", ReportOf(fail_error)},
          {"fail+inconclusive", ReportOf(fail_inconclusive)},
          {"error+inconclusive", ReportOf(error_inconclusive)},
          {"pass+unsupported", PassAndUnsupported(true)},
          {"all", PassAndUnsupported(false)},
          {"unclaimed", PrefillDiffers()},
          {"hostile", Hostile()},
          {"nothing", Nothing()}};
}

Report VerdictReport(const std::string& name) {
  for (auto& [known, report] : VerdictReports()) {
    if (known == name) return report;
  }
  throw Error(ErrorCode::kInternal, name + ": no such report");
}

}  // namespace detcheck
