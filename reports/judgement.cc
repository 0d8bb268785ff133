#include "reports/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "fixtures/shard.h"
#include "reports/composition.h"
#include "reports/evidence.h"
#include "reports/judgement_words.h"
#include "reports/power.h"
#include "reports/replica.h"
#include "reports/response_cache.h"
#include "reports/samples.h"
#include "reports/scope.h"
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
  int num_diverged = 0;
  int num_invalid = 0;
  int num_samples = 0;
  for (const RequestJudgement& request : judgement->requests) {
    if (request.subject || request.verdict == Verdict::kFail) {
      judgement->verdict = Worse(judgement->verdict, request.verdict);
    }
    if (request.verdict == Verdict::kFail) {
      ++(request.cause == Cause::kNone ? num_invalid : num_diverged);
    }
    if (request.subject) num_samples += request.total_samples;
  }
  if (num_diverged > 0) {
    judgement->reasons.push_back(
        fmt::format("{} of {} requests diverged", num_diverged, judgement->requests.size()));
  }
  if (num_invalid > 0) {
    judgement->reasons.push_back(fmt::format("{} of {} requests have texts that are all invalid",
                                             num_invalid, judgement->requests.size()));
  }
  if (num_samples == 0) Add(Verdict::kInconclusive, "no sample was judged", judgement);
}

void NoteValidity(const std::string& criterion, ModeJudgement* judgement) {
  ValidityCounts all;
  for (const RequestJudgement& request : judgement->requests) {
    if (!request.subject || !request.validity) continue;
    all.num_valid += request.validity->num_valid;
    all.num_invalid += request.validity->num_invalid;
    all.num_unknown += request.validity->num_unknown;
  }
  judgement->notes.push_back(fmt::format("criterion {}: {} valid texts, {} invalid, {} not judged",
                                         criterion, all.num_valid, all.num_invalid,
                                         all.num_unknown));
}

bool IsByText(const std::vector<RequestJudgement>& requests) {
  return std::any_of(requests.begin(), requests.end(), [](const RequestJudgement& request) {
    return request.identity == TokenIdentity::kText;
  });
}

void NoteCriterion(const Criterion& criterion, ModeJudgement* judgement) {
  if (IsByText(judgement->requests)) {
    judgement->notes.emplace_back(
        "compared by text, as the target gives no token IDs: different tokens of equal text are "
        "not told apart");
  }
  if (IsOfSingleTexts(criterion.kind)) return NoteValidity(ToString(criterion), judgement);
  if (criterion.kind != CriterionKind::kBitwise) return;
  int num_samples = 0;
  int num_traced = 0;
  for (const RequestJudgement& request : judgement->requests) {
    num_samples += request.total_samples;
    num_traced += request.traced_samples;
  }
  if (num_samples == 0) return;
  const bool by_text = IsByText(judgement->requests);
  judgement->notes.push_back(
      num_traced == 0
          ? fmt::format("criterion bitwise, resolved to {}: the target gave no logprobs",
                        by_text ? "text" : "token_ids")
          : fmt::format("criterion bitwise: logprobs of {} of {} samples, {} of all", num_traced,
                        num_samples, by_text ? "texts" : "tokens"));
}

// What keeps a subject from a verdict, and was found once its samples were judged: the mode says it
// too. `num_before`: reasons that each request had until then.
void AddLaterReasons(const Plan& plan, const std::vector<size_t>& num_before,
                     ModeJudgement* judgement) {
  for (size_t i = 0; i < num_before.size(); ++i) {
    const RequestJudgement& request = judgement->requests[i];
    if (!request.subject || request.verdict != Verdict::kInconclusive) continue;
    for (size_t j = num_before[i]; j < request.reasons.size(); ++j) {
      judgement->reasons.push_back(plan.requests[request.request].id + ": " + request.reasons[j]);
    }
  }
}

// That texts of the last request could not be judged.
void AddUnknownTexts(const Plan& plan, ModeJudgement* judgement) {
  const RequestJudgement& request = judgement->requests.back();
  if (!request.subject || !request.validity || request.validity->num_unknown == 0) return;
  Add(Verdict::kInconclusive,
      fmt::format("{}: {} of its texts could not be judged", plan.requests[request.request].id,
                  request.validity->num_unknown),
      judgement);
}

ModeJudgement JudgeMode(const Plan& plan, const Transcript& transcript, const TextFindings& texts,
                        Mode mode) {
  ModeJudgement judgement;
  judgement.mode = mode;
  judgement.verdict = Verdict::kPass;
  const std::vector<CellFinding> findings = CheckCells(plan, transcript, mode);
  for (const RequestSamples& samples : CollectSamples(plan, transcript, mode)) {
    judgement.requests.push_back(JudgeRequest(plan, mode, samples, texts, findings));
    const auto why = LacksPower(samples, plan.criterion.kind, texts);
    if (samples.subject && why) {
      Add(Verdict::kInconclusive, plan.requests[samples.request].id + ": " + *why, &judgement);
    }
    AddUnknownTexts(plan, &judgement);
  }
  std::vector<size_t> num_reasons;
  for (const RequestJudgement& request : judgement.requests) {
    num_reasons.push_back(request.reasons.size());
  }
  CheckResponseCache(plan, transcript, &judgement);
  CompareScores(plan, transcript, mode, &judgement.requests);
  if (mode == Mode::kSeeds) CompareSeeds(plan, transcript, &judgement);
  AddLaterReasons(plan, num_reasons, &judgement);
  AddRequests(&judgement);
  AddCells(findings, &judgement);
  NoteCriterion(plan.criterion, &judgement);
  judgement.num_batches = CountDistinctBatches(plan, transcript, mode);
  judgement.bound = UpperBound95(judgement.num_batches);
  judgement.formed_sizes = FormedSizes(plan, transcript, mode);
  return judgement;
}

bool HasStepOf(const Plan& plan, Mode mode) {
  const std::vector<int> steps = StepsToRun(plan);
  return std::any_of(steps.begin(), steps.end(),
                     [&](int step) { return plan.steps[step].mode == mode; });
}

ModeJudgement Unplanned(const Plan::Unplanned& unplanned) {
  ModeJudgement judgement;
  judgement.mode = unplanned.mode;
  judgement.verdict = Verdict::kUnsupported;
  judgement.reasons.push_back(unplanned.reason);
  return judgement;
}

bool IsNamed(const Plan& plan) {
  return plan.modes_named || plan.modes.size() + plan.unplanned.size() == 1;
}

// Which modes decide. What could not be carried out always does.
void Decide(const Plan& plan, const Manifest& subject, Judgement* judgement) {
  if (IsNamed(plan)) return;
  for (ModeJudgement& mode : judgement->modes) {
    if (mode.verdict == Verdict::kUnsupported) {
      mode.decides = false;
    } else if (mode.mode == Mode::kPvsD && mode.verdict != Verdict::kError &&
               !ClaimsDecodeAsPrefill(subject)) {
      mode.decides = false;
      judgement->notes.push_back(
          "p_vs_d does not decide: the target does not claim that decoding gives what prefill "
          "gives");
    }
  }
}

// The verdict of the modes that decide; where none does, nothing was shown.
Verdict VerdictOfModes(const std::vector<ModeJudgement>& modes) {
  Verdict verdict = Verdict::kPass;
  bool any_decides = false;
  bool all_unsupported = true;
  for (const ModeJudgement& mode : modes) {
    all_unsupported = all_unsupported && mode.verdict == Verdict::kUnsupported;
    if (!mode.decides) continue;
    any_decides = true;
    verdict = Worse(verdict, mode.verdict);
  }
  if (any_decides) return verdict;
  return all_unsupported && !modes.empty() ? Verdict::kUnsupported : Verdict::kInconclusive;
}

void JudgeRun(const Plan& plan, const Transcript& transcript, Judgement* judgement) {
  const auto inconclusive = [&](const std::string& reason) {
    judgement->verdict = Worse(judgement->verdict, Verdict::kInconclusive);
    judgement->reasons.push_back(reason);
  };
  const auto& modes = judgement->modes;
  if (modes.empty()) {
    inconclusive("nothing was run");
  } else if (judgement->verdict == Verdict::kInconclusive &&
             std::none_of(modes.begin(), modes.end(), [](const auto& m) { return m.decides; })) {
    inconclusive("no mode that decides was run");
  }
  if (!transcript.ended_early.empty()) {
    inconclusive("not every step was run: " + transcript.ended_early);
  } else if (!transcript.complete) {
    inconclusive("not every step was run");
  }
  JudgeRequiredScope(plan, transcript, judgement);
  if (transcript.identity.empty()) return;
  if (transcript.identity_after.empty()) {
    judgement->notes.push_back("what the target is could not be read again after the run");
  } else if (transcript.identity_after != transcript.identity) {
    inconclusive("the target is not what it was when the run began");
  }
}

}  // namespace

std::string ToString(Verdict verdict) {
  return WordOf(kVerdictWords, verdict);
}

std::string ToString(Cause cause) {
  return WordOf(kCauseWords, cause);
}

std::string ToString(ConditionKind kind) {
  return WordOf(kConditionWords, kind);
}

std::string NameOfMode(const ModeJudgement& mode) {
  if (mode.across_replicas) return ToString(mode.mode) + ", across replicas";
  return ToString(mode.mode) +
         (mode.replica ? fmt::format(", {}", NameOfReplica(*mode.replica)) : "");
}

std::string SlugOfMode(const ModeJudgement& mode) {
  if (mode.across_replicas) return ToString(mode.mode) + ".replicas";
  return ToString(mode.mode) + (mode.replica ? fmt::format(".replica-{}", *mode.replica + 1) : "");
}

void JudgeRequiredScope(const Plan& plan, const Transcript& transcript, Judgement* judgement) {
  if (plan.required_scope.empty()) return;
  if (plan.shard) {
    judgement->notes.push_back("the required scope is asked of all shards together");
    return;
  }
  const auto words = ScopeWordsOf(plan, transcript, judgement->modes);
  for (const UncoveredWord& uncovered : NotCovered(words, plan.required_scope)) {
    judgement->verdict = Worse(judgement->verdict, Verdict::kInconclusive);
    judgement->reasons.push_back(fmt::format("the required scope {} is not tested: {}",
                                             ToString(uncovered.word), uncovered.why));
  }
}

Verdict Worse(Verdict a, Verdict b) {
  const auto gravity = [](Verdict verdict) {
    return std::find(kByGravity.begin(), kByGravity.end(), verdict);
  };
  return gravity(a) < gravity(b) ? b : a;
}

Judgement Judge(const Plan& plan, const Transcript& transcript, const Manifest& subject,
                const TextFindings& texts) {
  Judgement judgement;
  judgement.criterion_digest = CriterionDigest(plan.criterion);
  for (const Mode mode : plan.modes) {
    if (plan.shard && !HasStepOf(plan, mode)) continue;  // Of other shards.
    judgement.modes.push_back(JudgeMode(plan, transcript, texts, mode));
  }
  for (const Plan::Unplanned& unplanned : plan.unplanned) {
    judgement.modes.push_back(Unplanned(unplanned));
  }
  Decide(plan, subject, &judgement);
  judgement.verdict = VerdictOfModes(judgement.modes);
  JudgeRun(plan, transcript, &judgement);
  return judgement;
}

bool ClaimsDecodeAsPrefill(const Manifest& subject) {
  return std::any_of(subject.begin(), subject.end(), [](const ManifestField& field) {
    return field.name == "engine.mode" && field.value == "deterministic";
  });
}

bool FoundNondeterminism(const Judgement& judgement) {
  for (const ModeJudgement& mode : judgement.modes) {
    for (const RequestJudgement& request : mode.requests) {
      if (request.verdict == Verdict::kFail && request.cause != Cause::kNone) return true;
    }
  }
  return false;
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
