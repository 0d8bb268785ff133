#include "cli/outcome.h"

#include <algorithm>

namespace detcheck {
namespace {

// Whether everything that keeps the mode from a verdict was allowed to. What has no reason cannot
// have been.
bool IsAllowed(const ModeJudgement& mode, const std::vector<AllowedInconclusive>& allowed) {
  if (mode.reasons.empty()) return false;
  return std::all_of(mode.reasons.begin(), mode.reasons.end(), [&](const std::string& reason) {
    return std::any_of(allowed.begin(), allowed.end(), [&](const AllowedInconclusive& one) {
      return one.mode == mode.mode && reason.find(one.reason) != std::string::npos;
    });
  });
}

// What the mode adds to the exit code.
Verdict CountedVerdict(const ModeJudgement& mode, const std::vector<AllowedInconclusive>& allowed) {
  const bool is_unsupported = mode.verdict == Verdict::kUnsupported;
  if ((is_unsupported || mode.verdict == Verdict::kInconclusive) && IsAllowed(mode, allowed)) {
    return Verdict::kPass;
  }
  return mode.verdict;
}

}  // namespace

ExitStatus OutcomeOf(const Judgement& judgement, RunEnd end,
                     const std::vector<AllowedInconclusive>& allowed) {
  if (end == RunEnd::kInterrupted) return ExitStatus::kInterrupted;
  Verdict worst = Verdict::kPass;
  bool has_run = false;
  for (const ModeJudgement& mode : judgement.modes) {
    if (!mode.decides) continue;
    worst = Worse(worst, CountedVerdict(mode, allowed));
    has_run = has_run || mode.verdict != Verdict::kUnsupported;
  }
  if (!has_run || !judgement.reasons.empty()) worst = Worse(worst, Verdict::kInconclusive);
  if (end == RunEnd::kTargetLost || end == RunEnd::kUnrecorded)
    worst = Worse(worst, Verdict::kError);
  return static_cast<ExitStatus>(ExitCode(worst));
}

RunEnd EndOf(const Report& report) {
  const bool is_lost = report.transcript.ended_early.starts_with("target lost");
  return is_lost ? RunEnd::kTargetLost : RunEnd::kComplete;
}

}  // namespace detcheck
