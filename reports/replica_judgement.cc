// What replicas of one target say of each other.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "fixtures/file_io.h"
#include "reports/attribution.h"
#include "reports/control.h"
#include "reports/divergence.h"
#include "reports/manifest_fields.h"
#include "reports/replica.h"
#include "reports/samples.h"
#include "reports/token_identity.h"
#include "reports/uniqueness.h"
#include "reports/verdict.h"

namespace detcheck {
namespace {

/// Fields that differ which are named; more are counted.
constexpr size_t kMaxNamedFields = 4;

// "engine.version is '0.5.6' on replica 1 and '0.5.7' on replica 2": what can explain a difference.
// The start of the process tells replicas apart, and explains nothing.
std::string WhatExplains(const std::vector<Replica>& replicas, int a, int b) {
  std::vector<std::string> names = DifferingIdentity(replicas[a].subject, replicas[b].subject);
  std::erase(names, "process.start");
  if (names.empty()) return "nothing that they tell of themselves explains it";
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMaxNamedFields); ++i) {
    const auto value = [&](int replica) {
      const std::string told = FieldValue(replicas[replica].subject, names[i]);
      return told.empty() ? "not known" : '\'' + OneLine(told) + '\'';
    };
    text += fmt::format("{}{} is {} on {} and {} on {}", i == 0 ? "" : "; ", names[i], value(a),
                        NameOfReplica(a), value(b), NameOfReplica(b));
  }
  if (names.size() > kMaxNamedFields) {
    text += fmt::format("; and {} more fields differ", names.size() - kMaxNamedFields);
  }
  return text + ", which can explain it";
}

/// Holds the steady references of one request against each other.
class AcrossReplicas {
 public:
  /// `own`: the judgement of the request on each replica; null where there is none.
  AcrossReplicas(const Plan& plan, Mode mode, const RequestSamples& samples,
                 const std::vector<Replica>& replicas,
                 const std::vector<const RequestJudgement*>& own, const TextFindings& texts)
      : request_(plan.requests[samples.request]),
        criterion_(plan.criterion.kind),
        samples_(samples.samples),
        replicas_(replicas),
        likeness_(samples_, texts) {
    judgement_.mode = mode;
    judgement_.request = samples.request;
    judgement_.verdict = Verdict::kPass;
    CountSamples(samples_, likeness_, &judgement_);
    for (size_t i = 0; i < own.size(); ++i) FindReference(static_cast<int>(i), own[i]);
  }

  RequestJudgement Run() {
    if (references_.empty()) {
      Add(Verdict::kInconclusive, "no replica has a steady reference");
      return std::move(judgement_);
    }
    const auto [first, expected] = references_.front();
    judgement_.reference = samples_[expected].ref;
    if (IsByText()) {
      judgement_.identity = TokenIdentity::kText;
      judgement_.unique_samples = likeness_.texts.Size();
      judgement_.sample_counts = likeness_.texts.counts;
    }
    std::vector<std::string> others;
    for (size_t i = 1; i < references_.size(); ++i) {
      if (CompareWith(first, expected, references_[i].first, references_[i].second)) {
        others.push_back(NameOfReplica(references_[i].first));
      }
    }
    for (const std::string& why : not_compared_) Add(Verdict::kInconclusive, why);
    if (references_.size() == 1) {
      Add(Verdict::kInconclusive, NameOfReplica(first) + " has nothing to be held against");
    }
    if (!others.empty()) {
      judgement_.condition_kind = ConditionKind::kReplica;
      judgement_.condition =
          fmt::format("on {}, not on {}", fmt::join(others, ", "), NameOfReplica(first));
    }
    return std::move(judgement_);
  }

 private:
  void Add(Verdict verdict, const std::string& reason) {
    judgement_.verdict = Worse(judgement_.verdict, verdict);
    judgement_.reasons.push_back(reason);
  }

  // What the replica says alone, again and again.
  void FindReference(int replica, const RequestJudgement* own) {
    const std::string name = NameOfReplica(replica);
    if (own == nullptr || !own->reference) {
      not_compared_.push_back(name + " did not answer it alone");
      return;
    }
    const bool repeats = own->cause != Cause::kNotRepeatable && own->cause != Cause::kInput;
    for (size_t i = 0; i < samples_.size(); ++i) {
      const Sample& sample = samples_[i];
      if (!(sample.ref == *own->reference)) continue;
      if (repeats && sample.counts && sample.IsControl() && sample.IsSolo()) {
        references_.emplace_back(replica, static_cast<int>(i));
        return;
      }
    }
    not_compared_.push_back(repeats ? name + " did not answer it alone"
                                    : name + " does not repeat its own answer");
  }

  // Whether token IDs came from some replicas alone, so that texts are compared.
  bool IsByText() const {
    const Completion& first = *samples_[references_.front().second].answer;
    return std::any_of(references_.begin(), references_.end(), [&](const auto& reference) {
      return OnlyOneHasIds(first, *samples_[reference.second].answer);
    });
  }

  // Why the two say nothing of each other under the criterion; empty where they do.
  std::string WhyNotComparable(int first, int expected, int replica, int actual) const {
    const Completion& a = *samples_[expected].answer;
    const Completion& b = *samples_[actual].answer;
    if (!OnlyOneHasIds(a, b) || criterion_ == CriterionKind::kText || IsOfSingleTexts(criterion_)) {
      return "";
    }
    if (criterion_ == CriterionKind::kBitwise && AreComparable(a, b)) return "";
    return fmt::format("one of {} and {} gives token IDs and the other text alone",
                       NameOfReplica(first), NameOfReplica(replica));
  }

  bool BreaksCriterion(int expected, int actual) const {
    const Completion& a = *samples_[expected].answer;
    const Completion& b = *samples_[actual].answer;
    if (criterion_ == CriterionKind::kBitwise && OnlyOneHasIds(a, b)) {
      return a.text != b.text || a.finish_reason != b.finish_reason;
    }
    return !likeness_.Same(expected, actual, criterion_);
  }

  // Whether they differ in what the criterion asks for.
  bool CompareWith(int first, int expected, int replica, int actual) {
    const std::string why_not = WhyNotComparable(first, expected, replica, actual);
    if (!why_not.empty()) {
      not_compared_.push_back(why_not);
      return false;
    }
    Divergence divergence = Compare(samples_[expected], samples_[actual], PromptLen(request_));
    divergence.breaks_criterion = BreaksCriterion(expected, actual);
    const bool differs = divergence.breaks_criterion ||
                         !likeness_.Same(expected, actual, CriterionKind::kBitwise) ||
                         !likeness_.Same(expected, actual, CriterionKind::kText);
    if (!differs) return false;
    const ControlArm control;
    divergence.cause = Attribute(
        {request_, samples_[expected], samples_[actual], divergence, control, false, false});
    if (divergence.cause == Cause::kNumeric && divergence.gap &&
        request_.sampling.temperature == 0.0) {
      divergence.near_tie = NearTieOf(*divergence.gap);
    }
    divergence.num_samples = NumAlike(actual, replica);
    divergence.by_control = true;
    judgement_.divergences.push_back(divergence);
    if (!judgement_.earliest ||
        (divergence.breaks_criterion && !judgement_.earliest->breaks_criterion)) {
      judgement_.earliest = divergence;
    }
    if (!divergence.breaks_criterion) return false;
    judgement_.cause = Gravest({judgement_.cause, divergence.cause});
    Add(Verdict::kFail, fmt::format("{} differs from {} (replica): {}: {}", NameOfReplica(replica),
                                    NameOfReplica(first), ToString(divergence.cause),
                                    CauseInWords(divergence.cause)));
    Add(Verdict::kFail, WhatExplains(replicas_, first, replica));
    return true;
  }

  int NumAlike(int actual, int replica) const {
    int num = 0;
    for (size_t i = 0; i < samples_.size(); ++i) {
      if (samples_[i].record->replica == replica &&
          likeness_.Same(static_cast<int>(i), actual, CriterionKind::kBitwise)) {
        ++num;
      }
    }
    return num;
  }

  const PlannedRequest& request_;
  const CriterionKind criterion_;
  const std::vector<Sample>& samples_;
  const std::vector<Replica>& replicas_;
  const Likeness likeness_;
  std::vector<std::pair<int, int>> references_;  // Replica, index of its sample.
  std::vector<std::string> not_compared_;
  RequestJudgement judgement_;
};

void Shift(int num_records, RequestJudgement* request) {
  const auto shift = [&](Divergence* divergence) {
    divergence->expected.record += num_records;
    divergence->actual.record += num_records;
  };
  if (request->reference) request->reference->record += num_records;
  for (Divergence& divergence : request->divergences) shift(&divergence);
  if (request->earliest) shift(&*request->earliest);
}

/// Judges a run of several replicas; the records are put together again at its end.
class ReplicaJudge {
 public:
  ReplicaJudge(const Plan& plan, const std::vector<Replica>& replicas, const TextFindings& texts,
               Transcript* transcript)
      : plan_(plan), replicas_(replicas), texts_(texts), transcript_(transcript) {}

  Judgement Run() {
    JudgeEach();
    for (const Mode mode : plan_.modes) JudgeAcross(mode);
    JudgeRequiredScope(plan_, *transcript_, &judgement_);
    return std::move(judgement_);
  }

 private:
  void JudgeEach() {
    Plan own_plan = plan_;
    own_plan.required_scope.clear();  // Asked of all together.
    std::vector<Transcript> each = SplitByReplica(transcript_, replicas_);
    judgement_.criterion_digest = CriterionDigest(plan_.criterion);
    judgement_.verdict = Verdict::kPass;
    int num_records = 0;
    for (size_t i = 0; i < each.size(); ++i) {
      const int replica = static_cast<int>(i);
      if (each[i].records.empty()) {
        judgement_.verdict = Worse(judgement_.verdict, Verdict::kInconclusive);
        judgement_.reasons.push_back(NameOfReplica(replica) +
                                     ": no step was run: " + each[i].ended_early);
        continue;
      }
      AddOwn(replica, num_records, Judge(own_plan, each[i], replicas_[i].subject, texts_));
      num_records += static_cast<int>(each[i].records.size());
      for (StepRecord& record : each[i].records) {
        transcript_->records.push_back(std::move(record));
      }
    }
  }

  void AddOwn(int replica, int num_records, Judgement own) {
    judgement_.verdict = Worse(judgement_.verdict, own.verdict);
    const std::string prefix = NameOfReplica(replica) + ": ";
    for (const std::string& reason : own.reasons) judgement_.reasons.push_back(prefix + reason);
    for (const std::string& note : own.notes) judgement_.notes.push_back(prefix + note);
    for (ModeJudgement& mode : own.modes) {
      mode.replica = replica;
      for (RequestJudgement& request : mode.requests) Shift(num_records, &request);
      judgement_.modes.push_back(std::move(mode));
    }
  }

  // The judgements of the request on each replica, where there are any.
  std::vector<const RequestJudgement*> OwnOf(Mode mode, int request) const {
    std::vector<const RequestJudgement*> own(replicas_.size(), nullptr);
    for (const ModeJudgement& one : judgement_.modes) {
      if (one.mode != mode || !one.replica) continue;
      for (const RequestJudgement& judged : one.requests) {
        if (judged.request == request) own[*one.replica] = &judged;
      }
    }
    return own;
  }

  // What some replicas do not give, so that it was not compared.
  void NoteWhatIsLacking(ModeJudgement* across) const {
    const bool by_text = std::any_of(
        across->requests.begin(), across->requests.end(),
        [](const RequestJudgement& one) { return one.identity == TokenIdentity::kText; });
    if (by_text) {
      across->notes.emplace_back(
          "compared by text, as not every replica gives token IDs: different tokens of equal text "
          "are not told apart");
    }
    if (plan_.criterion.kind != CriterionKind::kBitwise) return;
    std::vector<std::string> without;
    bool any_with = false;
    for (const ModeJudgement& one : judgement_.modes) {
      if (one.mode != across->mode || !one.replica) continue;
      const bool has_traces =
          std::any_of(one.requests.begin(), one.requests.end(),
                      [](const RequestJudgement& judged) { return judged.traced_samples > 0; });
      any_with = any_with || has_traces;
      if (!has_traces) without.push_back(NameOfReplica(*one.replica));
    }
    if (!any_with || without.empty()) return;
    across->notes.push_back(
        fmt::format("criterion bitwise: no logprobs to compare of {}", fmt::join(without, ", ")));
  }

  // Neighbours are left out: what else is in their batch need not be the same on each replica.
  void JudgeAcross(Mode mode) {
    ModeJudgement across;
    across.mode = mode;
    across.across_replicas = true;
    across.verdict = Verdict::kPass;
    size_t num_differ = 0;
    for (const RequestSamples& samples : CollectSamples(plan_, *transcript_, mode)) {
      if (!samples.subject) continue;
      across.requests.push_back(
          AcrossReplicas(plan_, mode, samples, replicas_, OwnOf(mode, samples.request), texts_)
              .Run());
      across.verdict = Worse(across.verdict, across.requests.back().verdict);
      if (across.requests.back().verdict == Verdict::kFail) ++num_differ;
    }
    if (across.requests.empty()) return;
    NoteWhatIsLacking(&across);
    if (num_differ > 0) {
      across.reasons.push_back(fmt::format("{} of {} requests differ between replicas", num_differ,
                                           across.requests.size()));
    } else if (across.verdict != Verdict::kPass) {
      across.reasons.push_back("not every replica has a steady reference of every request");
    }
    judgement_.verdict = Worse(judgement_.verdict, across.verdict);
    judgement_.modes.push_back(std::move(across));
  }

  const Plan& plan_;
  const std::vector<Replica>& replicas_;
  const TextFindings& texts_;
  Transcript* transcript_;
  Judgement judgement_;
};

}  // namespace

Judgement JudgeReplicas(const Plan& plan, const std::vector<Replica>& replicas,
                        const TextFindings& texts, Transcript* transcript) {
  return ReplicaJudge(plan, replicas, texts, transcript).Run();
}

}  // namespace detcheck
