#include "reports/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "reports/attribution.h"
#include "reports/condition.h"
#include "reports/control.h"
#include "reports/divergence.h"
#include "reports/power.h"
#include "reports/token_identity.h"
#include "reports/uniqueness.h"
#include "reports/validity.h"

namespace detcheck {
namespace {

/// Cells that prove nothing are named one by one up to this many.
constexpr int kMaxNamedCells = 3;

std::string CountVector(const std::vector<int>& counts) {
  constexpr size_t kMaxCounts = 8;
  std::vector<int> largest = counts;
  std::sort(largest.rbegin(), largest.rend());
  const bool cut = largest.size() > kMaxCounts;
  if (cut) largest.resize(kMaxCounts);
  return fmt::format("{}{}", fmt::join(largest, " + "), cut ? " + …" : "");
}

// Judges one request; its parts fill in `judgement_` one after another.
class RequestJudge {
 public:
  RequestJudge(const Plan& plan, Mode mode, const RequestSamples& samples,
               const TextFindings& texts)
      : plan_(plan),
        request_(plan.requests[samples.request]),
        all_(samples),
        samples_(samples.samples),
        texts_(texts),
        likeness_(samples.samples, texts),
        criterion_(plan.criterion.kind),
        control_(ReadControlArm(samples.samples, likeness_, criterion_)) {
    judgement_.mode = mode;
    judgement_.request = samples.request;
    judgement_.subject = samples.subject;
  }

  RequestJudgement Run(const std::vector<CellFinding>& findings) {
    Count();
    FindDivergences();
    FindEarliest();
    CheckInputs();
    CheckEqual();
    CheckTexts();
    if (judgement_.subject) CheckCellsOf(findings);
    if (const auto why = LacksPower(all_, criterion_, texts_)) Add(Verdict::kInconclusive, *why);
    DescribeWhen();
    return std::move(judgement_);
  }

 private:
  void Fail(const std::string& reason) { Add(Verdict::kFail, reason); }

  void Add(Verdict verdict, const std::string& reason) {
    worst_ = Worse(worst_, verdict);
    judgement_.verdict = worst_;
    judgement_.reasons.push_back(reason);
  }

  void Count() {
    judgement_.verdict = worst_;
    CountSamples(samples_, likeness_, &judgement_);
    if (IsOfSingleTexts(criterion_)) judgement_.validity = CountValidity(samples_, texts_);
    if (control_.reference >= 0) judgement_.reference = samples_[control_.reference].ref;
  }

  void FindDivergences() {
    if (control_.reference < 0) return;
    cold_company_agrees_ = ColdCompanyAgrees();
    const int ref_output = likeness_.outputs.of_sample[control_.reference];
    AddPerClass(likeness_.outputs, [](int) { return true; });
    // Other traces and texts of the tokens that the reference has; those of other tokens differ
    // with the tokens.
    const auto same_output = [&](int sample) {
      return likeness_.outputs.of_sample[sample] == ref_output;
    };
    AddPerClass(likeness_.traces, same_output);
    AddPerClass(likeness_.texts, [&](int sample) {
      return same_output(sample) &&
             likeness_.Same(sample, control_.reference, CriterionKind::kBitwise);
    });
  }

  // One divergence for each class, other than the reference's, that has a wanted sample.
  template <typename Wanted>
  void AddPerClass(const Classes& classes, Wanted wanted) {
    const int expected = StandIn(classes, wanted);
    if (expected < 0) return;
    const int own = classes.of_sample[expected];
    std::vector<std::vector<int>> members(classes.counts.size());
    for (size_t i = 0; i < samples_.size(); ++i) {
      const int cls = classes.of_sample[i];
      if (cls >= 0 && cls != own && wanted(static_cast<int>(i))) {
        members[cls].push_back(static_cast<int>(i));
      }
    }
    for (size_t cls = 0; cls < members.size(); ++cls) {
      if (!members[cls].empty()) AddDivergence(expected, members[cls], classes.first[cls]);
    }
  }

  // The reference; where it lacks what is compared (asked without logprobs) the first wanted sample
  // that has it; -1: there is none.
  template <typename Wanted>
  int StandIn(const Classes& classes, Wanted wanted) const {
    if (classes.of_sample[control_.reference] >= 0) return control_.reference;
    for (size_t i = 0; i < samples_.size(); ++i) {
      const int sample = static_cast<int>(i);
      if (classes.of_sample[sample] >= 0 && wanted(sample)) return sample;
    }
    return -1;
  }

  bool IsFirstRun(int sample) const {
    return control_.first_run_only && sample == control_.cold[0];
  }

  void AddDivergence(int expected, const std::vector<int>& members, int whole) {
    // Where others answered as the first run did, they are the finding.
    int actual = whole;
    if (std::find(members.begin(), members.end(), whole) == members.end() || IsFirstRun(whole)) {
      const auto other = std::find_if(members.begin(), members.end(),
                                      [&](int sample) { return !IsFirstRun(sample); });
      actual = other != members.end() ? *other : members.front();
    }
    Divergence divergence = Compare(samples_[expected], samples_[actual], PromptLen(request_));
    divergence.num_samples = static_cast<int>(members.size());
    divergence.breaks_criterion = !likeness_.Same(expected, actual, criterion_);
    const DivergenceSetting setting{request_,
                                    samples_[expected],
                                    samples_[actual],
                                    divergence,
                                    control_,
                                    members.size() == 1 && IsFirstRun(actual),
                                    cold_company_agrees_};
    divergence.cause = Attribute(setting);
    if (divergence.cause == Cause::kNumeric && divergence.gap &&
        request_.sampling.temperature == 0.0) {
      divergence.near_tie = NearTieOf(*divergence.gap);
    }
    judgement_.divergences.push_back(divergence);
  }

  bool ColdCompanyAgrees() const {
    bool any = false;
    for (size_t i = 0; i < samples_.size(); ++i) {
      const Sample& sample = samples_[i];
      if (sample.IsSolo() || sample.ReadCache()) continue;
      any = true;
      if (!likeness_.Same(static_cast<int>(i), control_.reference, criterion_)) return false;
    }
    return any;
  }

  // Tokens, or texts, before logprobs; see RequestJudgement::earliest for why these pairs are
  // enough.
  void FindEarliest() {
    const auto place = [](const Divergence& d) {
      constexpr int kNever = std::numeric_limits<int>::max();
      const std::optional<int>& output = d.text_offset ? d.text_offset : d.index;
      return std::pair(output.value_or(kNever), d.first_logprob_index.value_or(kNever));
    };
    const auto& all = judgement_.divergences;
    const auto earliest = std::min_element(
        all.begin(), all.end(),
        [&](const Divergence& a, const Divergence& b) { return place(a) < place(b); });
    if (earliest != all.end()) judgement_.earliest = *earliest;
  }

  void CheckInputs() {
    for (const Sample& sample : samples_) {
      if (!InputsDiffer(samples_[0], sample)) continue;
      inputs_differ_ = true;
      Fail(fmt::format(
          "the prompt as resolved or as the target counted it is not the same in all "
          "samples (record {}, item {} against record {}, item {})",
          sample.ref.record, sample.ref.item, samples_[0].ref.record, samples_[0].ref.item));
      return;
    }
  }

  // What differs, then what that means.
  void CheckEqual() {
    std::vector<Cause> causes;
    if (inputs_differ_) causes.push_back(Cause::kInput);
    for (const Divergence& divergence : judgement_.divergences) {
      if (divergence.breaks_criterion) causes.push_back(divergence.cause);
    }
    judgement_.cause = Gravest(causes);
    if (!AnyBreaks()) return;
    Fail(WhatDiffers());
    if (control_.not_repeatable) {
      Fail(control_.by_launch
               ? "cold samples agree within each start of the target and differ between starts "
                 "(not_repeatable, restart): no batch or cache conclusion is drawn"
               : "cold samples disagree among themselves (not_repeatable, run_to_run): no batch "
                 "or cache conclusion is drawn");
      return;
    }
    if (DiffersByLaunch()) {
      Fail(
          "samples of one start of the target agree, and those of another start differ from them "
          "(restart)");
    }
    if (control_.first_run_only) {
      Fail(
          "the first cold sample differs and the others agree (first_run_only, run_to_run); the "
          "others are the reference");
    }
    if (control_.warm_differs) {
      Fail("cold samples agree, warm samples agree, and cold differs from warm (prefix_cache)");
    }
    const std::set<Cause> distinct(causes.begin(), causes.end());
    for (const Cause cause : distinct) {
      if (cause == Cause::kFirstRunOnly || cause == Cause::kInput) continue;
      Fail(fmt::format("{}: {}", ToString(cause), CauseInWords(cause)));
    }
  }

  // What no divergence tells of texts.
  void CheckTexts() {
    if (!judgement_.validity) return;
    const ValidityCounts& counts = *judgement_.validity;
    if (counts.num_invalid > 0 && counts.num_valid > 0 && !AnyBreaks()) {
      judgement_.cause = Cause::kUnknown;
      Fail(HowValidityDiffers());
    }
    if (counts.num_invalid > 0 && counts.num_valid == 0 && judgement_.subject) {
      Fail("all texts are invalid alike, which is not nondeterminism: " +
           WhyNotValid(samples_, texts_, Validity::kInvalid));
    }
    if (counts.num_unknown > 0) {
      Add(Verdict::kInconclusive,
          fmt::format("{} of {} texts could not be judged: {}", counts.num_unknown,
                      counts.num_valid + counts.num_invalid + counts.num_unknown,
                      WhyNotValid(samples_, texts_, Validity::kUnknown)));
    }
  }

  std::string HowValidityDiffers() const {
    return fmt::format("validity differs: {} texts are valid, {} are not: {}",
                       judgement_.validity->num_valid, judgement_.validity->num_invalid,
                       WhyNotValid(samples_, texts_, Validity::kInvalid));
  }

  // Whether the start of the target, and nothing else, says which samples differ.
  bool DiffersByLaunch() const {
    const int launch = samples_[control_.reference].record->launch;
    bool any_differs = false;
    for (size_t i = 0; i < samples_.size(); ++i) {
      const int sample = static_cast<int>(i);
      if (IsFirstRun(sample)) continue;
      const bool differs = !likeness_.Same(sample, control_.reference, criterion_);
      if (differs != (samples_[i].record->launch != launch)) return false;
      any_differs = any_differs || differs;
    }
    return any_differs;
  }

  bool AnyBreaks() const {
    const auto& all = judgement_.divergences;
    return std::any_of(all.begin(), all.end(),
                       [](const Divergence& d) { return d.breaks_criterion; });
  }

  std::string WhatDiffers() const {
    const Divergence& earliest = *judgement_.earliest;
    if (criterion_ == CriterionKind::kText) {
      return fmt::format("texts differ: {} unique texts in {} samples",
                         judgement_.unique_texts.value_or(0), likeness_.texts.NumCompared());
    }
    if (judgement_.validity) {
      return HowValidityDiffers();
    }
    const bool by_text = judgement_.identity == TokenIdentity::kText;
    if (judgement_.unique_samples > 1) {
      const std::optional<int>& place = by_text ? earliest.text_offset : earliest.index;
      return fmt::format("{} differ: {} unique samples of {} ({}), first at {} {}",
                         by_text ? "texts" : "tokens", judgement_.unique_samples,
                         judgement_.total_samples, CountVector(judgement_.sample_counts),
                         by_text ? "byte" : "output position", place.value_or(0));
    }
    return fmt::format(
        "logprobs differ where {} agree: {} unique traces of {} ({}), first at output position {}",
        by_text ? "texts" : "tokens", judgement_.unique_traces, judgement_.traced_samples,
        CountVector(judgement_.trace_counts), earliest.first_logprob_index.value_or(0));
  }

  void CheckCellsOf(const std::vector<CellFinding>& findings) {
    int num_not_run = 0;
    int num_missed = 0;
    for (const CellFinding& finding : findings) {
      if (!IsSubjectOf(plan_.steps[finding.step])) continue;
      if (finding.not_run) {
        ++num_not_run;
      } else if (++num_missed <= kMaxNamedCells) {
        Add(finding.verdict, finding.reason);
      } else {
        worst_ = Worse(worst_, finding.verdict);
        judgement_.verdict = worst_;
      }
    }
    if (num_missed > kMaxNamedCells) {
      Add(Verdict::kInconclusive,
          fmt::format("and {} more such steps", num_missed - kMaxNamedCells));
    }
    if (num_not_run > 0) {
      Add(Verdict::kInconclusive, fmt::format("{} of its steps {} not run", num_not_run,
                                              num_not_run == 1 ? "was" : "were"));
    }
  }

  bool IsSubjectOf(const Step& step) const {
    return std::any_of(step.items.begin(), step.items.end(), [&](const PlannedItem& item) {
      return item.subject && item.request == judgement_.request;
    });
  }

  void DescribeWhen() {
    if (!AnyBreaks() || inputs_differ_) return;
    std::vector<Observation> observations;
    int num_diverged = 0;
    for (size_t i = 0; i < samples_.size(); ++i) {
      const int sample = static_cast<int>(i);
      if (IsFirstRun(sample)) continue;
      const bool diverged = !likeness_.Same(sample, control_.reference, criterion_);
      num_diverged += diverged ? 1 : 0;
      observations.push_back(Observe(plan_, samples_[i], diverged));
    }
    const bool is_without_first = observations.size() < samples_.size();
    Condition condition;
    if (control_.by_launch || DiffersByLaunch()) {
      condition = {ConditionKind::kRestart, "after a restart only"};
    } else if (control_.not_repeatable) {
      condition = {ConditionKind::kIntermittent, fmt::format("intermittent: {} of {} samples",
                                                             num_diverged, observations.size())};
    } else {
      condition = DescribeCondition(observations);
    }
    if (condition.words.empty()) {
      condition = is_without_first ? Condition{ConditionKind::kFirstRun, "in the first run only"}
                                   : DescribePosition(judgement_.divergences, PromptLen(request_));
    }
    judgement_.condition_kind = condition.kind;
    judgement_.condition = std::move(condition.words);
  }

  const Plan& plan_;
  const PlannedRequest& request_;
  const RequestSamples& all_;
  const std::vector<Sample>& samples_;
  const TextFindings& texts_;
  const Likeness likeness_;
  const CriterionKind criterion_;
  const ControlArm control_;
  RequestJudgement judgement_;
  Verdict worst_ = Verdict::kPass;
  bool inputs_differ_ = false;
  bool cold_company_agrees_ = false;
};

}  // namespace

void CountSamples(const std::vector<Sample>& samples, const Likeness& likeness,
                  RequestJudgement* judgement) {
  judgement->identity = IdentityOf(samples);
  judgement->total_samples = static_cast<int>(samples.size());
  judgement->unique_samples = likeness.outputs.Size();
  judgement->sample_counts = likeness.outputs.counts;
  judgement->traced_samples = likeness.traces.NumCompared();
  judgement->unique_traces = likeness.traces.Size();
  judgement->trace_counts = likeness.traces.counts;
  if (likeness.texts.Size() > 0) judgement->unique_texts = likeness.texts.Size();
}

RequestJudgement JudgeRequest(const Plan& plan, Mode mode, const RequestSamples& samples,
                              const TextFindings& texts, const std::vector<CellFinding>& findings) {
  return RequestJudge(plan, mode, samples, texts).Run(findings);
}

}  // namespace detcheck
