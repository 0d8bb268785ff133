#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "fixtures/plan.h"
#include "fixtures/scope_word.h"
#include "reports/bound.h"
#include "reports/judgement.h"
#include "reports/transcript.h"

namespace detcheck {

/// Values of one thing that was varied, ascending.
struct ScopeAxis {
  struct Value {
    int64_t value = 0;
    std::string word;  ///< Where values are names: "a restart"; else empty.
    int n = 0;         ///< Of those that WordScope::n counts, or of its batches: how many have it.
    bool operator==(const Value&) const = default;
  };
  std::string name;  ///< "formed_size", "cached_tokens".
  std::vector<Value> values;
  bool operator==(const ScopeAxis&) const = default;
};

/// What a run says of one scope word.
struct WordScope {
  ScopeWord word = ScopeWord::kRunToRun;
  /// What is held against the reference, 0: not tested. Distinct released batches that count
  /// (repeats of one composition count once); of run_to_run the repeats themselves, of
  /// prefill_vs_decode scored answers, of restart further starts of the target.
  int n = 0;
  std::vector<Mode> modes;        ///< That they are of, in plan order.
  std::vector<ScopeAxis> varied;  ///< Alphabetically.
  std::string bound;    ///< In words; empty where not tested or where something did not pass.
  std::string why_not;  ///< Why it is not tested; empty where it is.
  bool operator==(const WordScope&) const = default;
};

/// One thing that was held, or that the verdict holds for, as a name and its value in words.
struct ScopeFact {
  std::string name;
  std::string value;
  bool operator==(const ScopeFact&) const = default;
};

/// An attempt that does not count. Decided without looking at its answers, which are compared.
struct VoidedAttempt {
  int step = 0;     ///< Index into Plan::steps.
  int attempt = 0;  ///< 0-based.
  std::string why;
  bool operator==(const VoidedAttempt&) const = default;
};

/// What a verdict speaks of. Part of the report; every rendering takes it from there.
struct Scope {
  std::vector<WordScope> words;         ///< All scope words, in their order.
  std::vector<ScopeFact> held;          ///< The same in all of the run.
  std::vector<ScopeFact> holds_for;     ///< Engine, model and machine, of the subject's manifest.
  std::vector<std::string> not_tested;  ///< Arms, modes and steps, each with the reason.
  std::vector<VoidedAttempt> voided;    ///< In transcript order.
  std::vector<std::string> notes;       ///< Of the criterion, of the checks, of the run.
  bool operator==(const Scope&) const = default;
};

/// The scope words alone: what Judge asks before there is a whole judgement. `modes` are judged.
std::vector<WordScope> ScopeWordsOf(const Plan& plan, const Transcript& transcript,
                                    const std::vector<ModeJudgement>& modes);

/// The scope of a run. Pure.
Scope ScopeOf(const Plan& plan, const Transcript& transcript, const Judgement& judgement,
              const TargetFacts& facts, const Manifest& subject);

/// A required word that a run says nothing about.
struct UncoveredWord {
  ScopeWord word = ScopeWord::kRunToRun;
  std::string why;  ///< "none of its modes was asked for (mixed)".
};

/// Those of `required` that are not tested in `words` (Scope::words), in the order of `required`.
/// Empty: all are covered.
std::vector<UncoveredWord> NotCovered(const std::vector<WordScope>& words,
                                      const std::vector<ScopeWord>& required);

/// What n of a scope word counts, in words.
BoundUnit UnitOf(ScopeWord word);

/// The axis that a scope word is about ("formed_size" of batch), always among WordScope::varied
/// where it took a value; empty where there is none.
std::string OwnAxisOf(ScopeWord word);

/// Starts of the target that answered; of several replicas, of the one with the most.
int NumLaunches(const Transcript& transcript);

}  // namespace detcheck
