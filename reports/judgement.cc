#include "reports/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "reports/composition.h"
#include "reports/evidence.h"
#include "reports/response_cache.h"
#include "reports/samples.h"
#include "reports/scores.h"
#include "reports/seeds.h"
#include "reports/verdict.h"

namespace detcheck {
namespace {

/// Cells that prove nothing are named one by one up to this many in a mode's reasons.
constexpr size_t kMaxNamedCells = 10;

// Gravest last.
constexpr std::array kByGravity = {Verdict::kPass, Verdict::kUnsupported, Verdict::kInconclusive,
                                   Verdict::kError, Verdict::kFail};

void Add(Verdict verdict, std::string reason, ModeJudgement* judgement) {
  judgement->verdict = Worse(judgement->verdict, verdict);
  judgement->reasons.push_back(std::move(reason));
}

void AddCells(const std::vector<CellFinding>& findings, ModeJudgement* judgement) {
  std::vector<const CellFinding*> not_run;
  size_t num_missed = 0;
  for (const CellFinding& finding : findings) {
    judgement->verdict = Worse(judgement->verdict, finding.verdict);
    if (finding.not_run) {
      not_run.push_back(&finding);
    } else if (++num_missed <= kMaxNamedCells) {
      judgement->reasons.push_back(finding.reason);
    }
  }
  if (num_missed > kMaxNamedCells) {
    judgement->reasons.push_back(
        fmt::format("and {} more such steps", num_missed - kMaxNamedCells));
  }
  if (not_run.size() == 1) {
    judgement->reasons.push_back(not_run.front()->reason);
  } else if (!not_run.empty()) {
    judgement->reasons.push_back(fmt::format("{} steps were not run, the first of them: {}",
                                             not_run.size(), not_run.front()->reason));
  }
}

// Neighbours are company: one that could not be compared takes nothing from the subjects, one that
// diverged does.
void AddRequests(ModeJudgement* judgement) {
  int num_failed = 0;
  int num_samples = 0;
  for (const RequestJudgement& request : judgement->requests) {
    if (request.subject || request.verdict == Verdict::kFail) {
      judgement->verdict = Worse(judgement->verdict, request.verdict);
    }
    if (request.verdict == Verdict::kFail) ++num_failed;
    if (request.subject) num_samples += request.total_samples;
  }
  if (num_failed > 0) {
    judgement->reasons.push_back(
        fmt::format("{} of {} requests diverged", num_failed, judgement->requests.size()));
  }
  if (num_samples == 0) Add(Verdict::kInconclusive, "no sample was judged", judgement);
}

void NoteCriterion(CriterionKind criterion, ModeJudgement* judgement) {
  if (criterion != CriterionKind::kBitwise) return;
  int num_samples = 0;
  int num_traced = 0;
  for (const RequestJudgement& request : judgement->requests) {
    num_samples += request.total_samples;
    num_traced += request.traced_samples;
  }
  if (num_samples == 0) return;
  judgement->notes.push_back(
      num_traced == 0
          ? "criterion bitwise, resolved to token_ids: the target gave no logprobs"
          : fmt::format("criterion bitwise: logprobs of {} of {} samples, tokens of all",
                        num_traced, num_samples));
}

ModeJudgement JudgeMode(const Plan& plan, const Transcript& transcript, Mode mode) {
  ModeJudgement judgement;
  judgement.mode = mode;
  judgement.verdict = Verdict::kPass;
  const std::vector<CellFinding> findings = CheckCells(plan, transcript, mode);
  for (const RequestSamples& samples : CollectSamples(plan, transcript, mode)) {
    judgement.requests.push_back(JudgeRequest(plan, mode, samples, findings));
    const auto why = LacksPower(samples, plan.criterion.kind);
    if (samples.subject && why) {
      Add(Verdict::kInconclusive, plan.requests[samples.request].id + ": " + *why, &judgement);
    }
  }
  CheckResponseCache(plan, transcript, &judgement);
  CompareScores(plan, transcript, mode, &judgement.requests);
  if (mode == Mode::kSeeds) CompareSeeds(plan, transcript, &judgement);
  AddRequests(&judgement);
  AddCells(findings, &judgement);
  NoteCriterion(plan.criterion.kind, &judgement);
  judgement.num_batches = CountDistinctBatches(plan, transcript, mode);
  judgement.bound = UpperBound95(judgement.num_batches);
  judgement.formed_sizes = FormedSizes(plan, transcript, mode);
  return judgement;
}

ModeJudgement Unplanned(const Plan::Unplanned& unplanned) {
  ModeJudgement judgement;
  judgement.mode = unplanned.mode;
  judgement.verdict = Verdict::kUnsupported;
  judgement.reasons.push_back(unplanned.reason);
  return judgement;
}

void JudgeRun(const Transcript& transcript, Judgement* judgement) {
  const auto inconclusive = [&](const std::string& reason) {
    judgement->verdict = Worse(judgement->verdict, Verdict::kInconclusive);
    judgement->reasons.push_back(reason);
  };
  if (judgement->modes.empty()) inconclusive("nothing was run");
  if (!transcript.ended_early.empty()) {
    inconclusive("not every step was run: " + transcript.ended_early);
  } else if (!transcript.complete) {
    inconclusive("not every step was run");
  }
  if (transcript.identity.empty()) return;
  if (transcript.identity_after.empty()) {
    judgement->notes.push_back("what the target is could not be read again after the run");
  } else if (transcript.identity_after != transcript.identity) {
    inconclusive("the target is not what it was when the run began");
  }
}

}  // namespace

std::string ToString(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "pass";
    case Verdict::kFail:
      return "fail";
    case Verdict::kInconclusive:
      return "inconclusive";
    case Verdict::kUnsupported:
      return "unsupported";
    case Verdict::kError:
      return "error";
  }
  return "";
}

std::string ToString(Cause cause) {
  constexpr std::array kNames = {"none",           "input",          "exact_tie",
                                 "not_repeatable", "first_run_only", "prefix_cache",
                                 "sampling",       "numeric",        "unknown"};
  return kNames[static_cast<size_t>(cause)];
}

Verdict Worse(Verdict a, Verdict b) {
  const auto gravity = [](Verdict verdict) {
    return std::find(kByGravity.begin(), kByGravity.end(), verdict);
  };
  return gravity(a) < gravity(b) ? b : a;
}

Judgement Judge(const Plan& plan, const Transcript& transcript) {
  Judgement judgement;
  judgement.verdict = Verdict::kPass;
  for (const Mode mode : plan.modes) {
    judgement.modes.push_back(JudgeMode(plan, transcript, mode));
  }
  for (const Plan::Unplanned& unplanned : plan.unplanned) {
    judgement.modes.push_back(Unplanned(unplanned));
  }
  for (const ModeJudgement& mode : judgement.modes) {
    judgement.verdict = Worse(judgement.verdict, mode.verdict);
  }
  JudgeRun(transcript, &judgement);
  return judgement;
}

int ExitCode(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return 0;
    case Verdict::kFail:
      return 1;
    case Verdict::kInconclusive:
    case Verdict::kUnsupported:
      return 3;
    case Verdict::kError:
      return 4;
  }
  return 4;
}

}  // namespace detcheck
