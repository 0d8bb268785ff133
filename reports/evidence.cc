#include "reports/evidence.h"

#include <fmt/format.h>

#include <algorithm>

#include "fixtures/shard.h"

namespace detcheck {
namespace {

std::string Missed(int item, const std::string& fact) {
  return fmt::format("missed witness: {} (item {})", fact, item);
}

// `value` where the witness has a source; a value without one is hearsay.
std::optional<int> Witnessed(const Witness& witness, const std::optional<int>& value) {
  return witness.source == WitnessSource::kNone ? std::nullopt : value;
}

std::optional<std::string> MissedFormedSize(const Evidence& evidence, const Witness& witness,
                                            int item) {
  if (!evidence.min_formed_size) return std::nullopt;
  const std::optional<int> formed = Witnessed(witness, witness.formed_size);
  if (!formed) return Missed(item, "formed size not known");
  if (*formed >= *evidence.min_formed_size) return std::nullopt;
  return Missed(item, fmt::format("formed size {} of {}", *formed, *evidence.min_formed_size));
}

std::optional<std::string> MissedCache(const Evidence& evidence, const Witness& witness, int item) {
  if (!evidence.max_cached_tokens && !evidence.min_cached_tokens) return std::nullopt;
  const std::optional<int> cached = Witnessed(witness, witness.cached_tokens);
  if (!cached) return Missed(item, "cached tokens not known");
  if (*cached > evidence.max_cached_tokens.value_or(*cached)) {
    return Missed(item, fmt::format("{} cached tokens, at most {} allowed", *cached,
                                    *evidence.max_cached_tokens));
  }
  if (*cached < evidence.min_cached_tokens.value_or(*cached)) {
    return Missed(item, fmt::format("{} cached tokens, at least {} needed", *cached,
                                    *evidence.min_cached_tokens));
  }
  return std::nullopt;
}

std::optional<std::string> MissedOverlap(const Evidence& evidence, const Witness& witness,
                                         int item) {
  if (!evidence.overlap) return std::nullopt;
  const std::optional<int> same = Witnessed(witness, witness.same_step_prefill_tokens);
  const std::optional<int> between = Witnessed(witness, witness.interleaved_prefill_tokens);
  if (same.value_or(0) > 0 || between.value_or(0) > 0) return std::nullopt;
  if (!same && !between) return Missed(item, "overlap with a neighbour's prefill not known");
  return Missed(item, "no neighbour's prefill while it decoded");
}

std::optional<std::string> MissedPreemption(const StepRecord& record) {
  for (const Completion& completion : record.completions) {
    const Witness& witness = completion.witness;
    if (Witnessed(witness, witness.preemptions).value_or(0) > 0) return std::nullopt;
  }
  return "missed witness: no item was preempted";
}

std::optional<std::string> MissedInBatch(const Step& step, const StepRecord& record) {
  if (record.completions.size() != step.items.size()) {
    return fmt::format("missed witness: {} of {} items answered", record.completions.size(),
                       step.items.size());
  }
  for (size_t i = 0; i < step.items.size(); ++i) {
    const Completion& completion = record.completions[i];
    if (!step.items[i].subject || completion.finish_reason == FinishReason::kError) continue;
    for (const auto missed : {MissedFormedSize, MissedCache, MissedOverlap}) {
      auto fact = missed(step.evidence, completion.witness, static_cast<int>(i));
      if (fact) return fact;
    }
  }
  return step.evidence.preemption ? MissedPreemption(record) : std::nullopt;
}

// Whether each item ended as planned: by itself, or aborted where an abort was asked for.
bool AllEnded(const Step& step, const StepRecord& record) {
  for (size_t i = 0; i < record.completions.size(); ++i) {
    const FinishReason reason = record.completions[i].finish_reason;
    if (reason == FinishReason::kError) return false;
    if (reason == FinishReason::kAbort && !step.items[i].abort_after_tokens) return false;
  }
  return true;
}

bool Failed(const StepRecord& record) {
  return record.error || std::any_of(record.completions.begin(), record.completions.end(),
                                     [](const Completion& completion) {
                                       return completion.finish_reason == FinishReason::kError;
                                     });
}

std::string WhyNot(const Step& step, const StepRecord& record) {
  if (record.error) return *record.error;
  for (size_t i = 0; i < record.completions.size(); ++i) {
    const Completion& completion = record.completions[i];
    if (completion.finish_reason == FinishReason::kError) {
      return fmt::format("item {}: {}", i, completion.error);
    }
  }
  if (record.voided) return *record.voided;
  return MissedEvidence(step, record).value_or("cut off before its planned end");
}

CellFinding Explain(const Step& step, int step_idx, const StepRecord* last, int num_attempts) {
  CellFinding finding;
  finding.step = step_idx;
  const std::string name = fmt::format("step {} '{}'", step_idx, step.label);
  if (last == nullptr) {
    finding.not_run = true;
    finding.reason = name + " was not run";
  } else if (Failed(*last)) {
    finding.verdict = Verdict::kError;
    finding.reason = fmt::format("{} failed: {}", name, WhyNot(step, *last));
  } else {
    finding.reason = fmt::format("{} never {} in {} {}: {}", name,
                                 step.kind == StepKind::kBatch ? "formed" : "counted", num_attempts,
                                 num_attempts == 1 ? "attempt" : "attempts", WhyNot(step, *last));
  }
  return finding;
}

}  // namespace

std::optional<std::string> MissedEvidence(const Step& step, const StepRecord& record) {
  switch (step.kind) {
    case StepKind::kFlush:
      if (record.flush_accepted) return std::nullopt;
      return "missed witness: flush refused" +
             (record.detail.empty() ? "" : " (" + record.detail + ")");
    case StepKind::kBatch:
      return MissedInBatch(step, record);
    default:
      return std::nullopt;
  }
}

bool Counts(const Step& step, const StepRecord& record) {
  return !record.voided && !record.error && !MissedEvidence(step, record) && AllEnded(step, record);
}

std::vector<CellFinding> CheckCells(const Plan& plan, const Transcript& transcript, Mode mode) {
  const size_t num_steps = plan.steps.size();
  std::vector<int> num_attempts(num_steps, 0);
  std::vector<bool> counted(num_steps, false);
  std::vector<const StepRecord*> last(num_steps, nullptr);
  for (const StepRecord& record : transcript.records) {
    if (record.step < 0 || record.step >= static_cast<int>(num_steps)) continue;
    ++num_attempts[record.step];
    last[record.step] = &record;
    if (Counts(plan.steps[record.step], record)) counted[record.step] = true;
  }
  std::vector<CellFinding> findings;
  for (const int i : StepsToRun(plan)) {
    if (plan.steps[i].mode != mode || counted[i]) continue;
    findings.push_back(Explain(plan.steps[i], i, last[i], num_attempts[i]));
  }
  return findings;
}

}  // namespace detcheck
