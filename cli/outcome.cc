#include "cli/outcome.h"

#include <algorithm>

namespace detcheck {
namespace {

// Whether everything that keeps the mode from a verdict was allowed to.
bool IsAllowed(const ModeJudgement& mode, const std::vector<AllowedInconclusive>& allowed) {
  return std::all_of(mode.reasons.begin(), mode.reasons.end(), [&](const std::string& reason) {
    return std::any_of(allowed.begin(), allowed.end(), [&](const AllowedInconclusive& one) {
      return one.mode == mode.mode && reason.find(one.reason) != std::string::npos;
    });
  });
}

// Whether nothing of the mode counts: it was not asked for by name, and either the target cannot do
// it or, of p_vs_d, does not claim it. What could not be carried out counts.
bool IsExempt(const ModeJudgement& mode, bool all_modes, bool claims_decode_as_prefill) {
  if (!all_modes || mode.verdict == Verdict::kError) return false;
  return mode.verdict == Verdict::kUnsupported ||
         (mode.mode == Mode::kPvsD && !claims_decode_as_prefill);
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

ExitStatus OutcomeOf(const Judgement& judgement, RunEnd end, bool all_modes,
                     const std::vector<AllowedInconclusive>& allowed,
                     bool claims_decode_as_prefill) {
  if (end == RunEnd::kInterrupted) return ExitStatus::kInterrupted;
  Verdict worst = Verdict::kPass;
  bool has_run = false;
  for (const ModeJudgement& mode : judgement.modes) {
    // A mode that is the only one was named, in the plan if not on the command line.
    const bool by_name =
        !all_modes || (judgement.modes.size() == 1 && mode.verdict != Verdict::kUnsupported);
    if (IsExempt(mode, !by_name, claims_decode_as_prefill)) continue;
    worst = Worse(worst, CountedVerdict(mode, allowed));
    has_run = has_run || mode.verdict != Verdict::kUnsupported;
  }
  if (!has_run || !judgement.reasons.empty()) worst = Worse(worst, Verdict::kInconclusive);
  if (end == RunEnd::kTargetLost) worst = Worse(worst, Verdict::kError);
  return static_cast<ExitStatus>(ExitCode(worst));
}

bool ClaimsDecodeAsPrefill(const Manifest& subject) {
  return std::any_of(subject.begin(), subject.end(), [](const ManifestField& field) {
    return field.name == "engine.mode" && field.value == "deterministic";
  });
}

}  // namespace detcheck
