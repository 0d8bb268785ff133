// Every class of cause and every kind of condition is reached by two constructed transcripts or
// more. Which of them the embedded engine reaches is tested in tests/e2e/test_conditions.py.

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "reports/judgement_words.h"
#include "tests/reports/run_builder.h"

namespace detcheck {
namespace {

const Completion kAnswer = Says({1, 2, 3, 4});
const Completion kOther = WithLogprob(Says({1, 2, 9, 4}), 1, -0.4);
const Completion kThird = WithLogprob(Says({1, 2, 8, 4}), 1, -0.3);

// Answers whose third token has two candidates, 3 and 9, with these logprobs.
Completion Choosing(TokenId chosen, double logprob_of_3, double logprob_of_9) {
  Completion answer = Says({1, 2, chosen, 4});
  TokenLogprob& told = answer.logprobs[2];
  told.logprob = chosen == 3 ? logprob_of_3 : logprob_of_9;
  told.top = {{3, logprob_of_3}, {9, logprob_of_9}};
  return answer;
}

RunBuilder Control(const Completion& answer = kAnswer) {
  RunBuilder run;
  run.Solos(5, Arm::kControlCold, answer);
  return run;
}

RunBuilder Pair(const Completion& reference, const Completion& other, double temperature = 0.0) {
  RunBuilder run = Control(reference);
  run.plan().requests[0].sampling.temperature = temperature;
  run.Batch({reference, other});
  return run;
}

// Several varied steps after the control arm: each shaped by `shape` and diverged or not.
template <typename Value, typename Shape>
RunBuilder Varied(const std::vector<std::pair<Value, bool>>& cells, Shape shape) {
  RunBuilder run = Control();
  for (const auto& [value, diverged] : cells) shape(value, diverged ? kOther : kAnswer, &run);
  return run;
}

void OfSize(int size, const Completion& answer, RunBuilder* run) {
  run->Batch(std::vector<Completion>(size, answer));
}

std::function<void(int, const Completion&, RunBuilder*)> OnAxis(const std::string& name) {
  return [name](int value, const Completion& answer, RunBuilder* run) {
    run->Solo(Arm::kVaried, answer);
    run->LastStep().axes = {{name, value}};
  };
}

void BesidePrefill(int tokens, Completion answer, RunBuilder* run) {
  answer.witness.same_step_prefill_tokens = tokens;
  run->Batch({answer});
}

void WithCached(int tokens, const Completion& answer, RunBuilder* run) {
  run->Solo(Arm::kVaried, Cached(answer, tokens), CacheState::kShared);
}

void CutAt(const std::vector<int>& ends, Completion answer, RunBuilder* run) {
  answer.witness.chunk_ends = ends;
  run->Solo(Arm::kVaried, answer);
}

// A batch of `size` in which only these items diverge.
void AddItems(int size, const std::vector<int>& diverged, RunBuilder* run) {
  std::vector<Completion> answers(size, kAnswer);
  for (const int item : diverged) answers[item] = kOther;
  run->Batch(answers);
}

RunBuilder AtItems(const std::vector<int>& diverged) {
  RunBuilder run = Control();
  AddItems(8, diverged, &run);
  return run;
}

// Larger batches, where only one item diverges.
RunBuilder AtItemOfLargeBatches(int item) {
  RunBuilder run = Control();
  AddItems(4, {}, &run);
  AddItems(8, {item}, &run);
  AddItems(16, {item}, &run);
  return run;
}

// So that no axis tells: odd sizes agree, even ones diverge, and there are many of both.
RunBuilder Scattered(const Completion& first, const Completion& second) {
  RunBuilder run = Control();
  for (int size = 2; size <= 13; ++size) {
    OfSize(size, size % 2 != 0 ? kAnswer : size % 4 == 0 ? first : second, &run);
  }
  return run;
}

RunBuilder Starts(int num_first, int num_second) {
  RunBuilder run;
  run.Solos(num_first, Arm::kControlCold, kAnswer);
  for (int i = 0; i < num_second; ++i) {
    run.Solo(Arm::kControlCold, kOther);
    run.LastRecord().launch = 1;
  }
  return run;
}

RunBuilder Repeated(const std::vector<Completion>& answers) {
  RunBuilder run = Control();
  for (const Completion& answer : answers) OfSize(4, answer, &run);
  return run;
}

RunBuilder FirstRun(const Completion& first) {
  RunBuilder run;
  run.Solo(Arm::kControlCold, first).Solos(4, Arm::kControlCold, kAnswer);
  return run;
}

RunBuilder OtherDigest(bool answers_differ) {
  RunBuilder run = Pair(kAnswer, answers_differ ? kOther : kAnswer);
  run.LastRecord().prompt_digests[1] = std::string(64, 'a');
  return run;
}

RunBuilder OtherCount() {
  Completion counted = kOther;
  counted.prompt_tokens = 13;
  return Pair(kAnswer, counted);
}

RunBuilder TieAtTheEnd() {
  Completion reference = Says({1, 2, 5, 4});
  Completion other = Says({1, 2, 5, 9});
  reference.logprobs[3].top = other.logprobs[3].top = {{4, -0.5}, {9, -0.5}};
  return Pair(reference, other);
}

RunBuilder Rechecked() {
  RunBuilder run = Control();
  run.Batch({kAnswer, kAnswer}).Solo(Arm::kRecheck, kOther);
  return run;
}

RunBuilder Unsteady() {
  RunBuilder run;
  run.Solos(3, Arm::kControlCold, kAnswer).Solos(2, Arm::kControlCold, kOther);
  return run;
}

RunBuilder WarmDiffers() {
  RunBuilder run = Control();
  run.Solos(5, Arm::kControlWarm, Cached(kOther, 8), CacheState::kWarm);
  return run;
}

RunBuilder SharedDiffers() {
  RunBuilder run = Control();
  run.Batch({kAnswer, kAnswer, kAnswer}).Batch({Cached(kAnswer, 0), Cached(kOther, 8)});
  run.LastStep().cache = CacheState::kShared;
  return run;
}

RunBuilder CandidatesNotTold() {
  Completion reference = Choosing(3, -0.25, -1.75);
  Completion other = Choosing(9, -0.25, -1.75);
  reference.logprobs[2].top = other.logprobs[2].top = {};
  return Pair(reference, other);
}

// All classes: a class that is added does not compile before it is here, and then fails for want of
// rows below.
std::vector<Cause> AllCauses() {
  std::vector<Cause> all;
  for (const auto& [cause, word] : kCauseWords) {
    switch (cause) {
      case Cause::kNone:
      case Cause::kInput:
      case Cause::kExactTie:
      case Cause::kNotRepeatable:
      case Cause::kFirstRunOnly:
      case Cause::kPrefixCache:
      case Cause::kSampling:
      case Cause::kNumeric:
      case Cause::kUnknown:
        all.push_back(cause);
    }
  }
  return all;
}

std::vector<ConditionKind> AllConditionKinds() {
  std::vector<ConditionKind> all;
  for (const auto& [kind, word] : kConditionWords) {
    switch (kind) {
      case ConditionKind::kNone:
      case ConditionKind::kFormedSize:
      case ConditionKind::kNeighbourPrefill:
      case ConditionKind::kSameStepPrefill:
      case ConditionKind::kCachedTokens:
      case ConditionKind::kItem:
      case ConditionKind::kHistory:
      case ConditionKind::kChunkBoundary:
      case ConditionKind::kAbsolutePosition:
      case ConditionKind::kOtherAxis:
      case ConditionKind::kTwoAxes:
      case ConditionKind::kVariedSteps:
      case ConditionKind::kIntermittent:
      case ConditionKind::kRestart:
      case ConditionKind::kFirstRun:
        all.push_back(kind);
        break;
      case ConditionKind::kReplica:  // Of several runs: replica_test.cc.
        break;
    }
  }
  return all;
}

TEST(Causes, EachIsReachedTwice) {
  const std::vector<std::pair<Cause, RunBuilder>> table = {
      {Cause::kNone, SteadyRun(kAnswer)},
      {Cause::kNone, SteadyRun(SaysOnly({1, 2, 3}))},
      {Cause::kInput, OtherDigest(true)},
      {Cause::kInput, OtherDigest(false)},
      {Cause::kInput, OtherCount()},
      {Cause::kExactTie, Pair(Choosing(3, -0.75, -0.75), Choosing(9, -0.75, -0.75))},
      {Cause::kExactTie, TieAtTheEnd()},
      {Cause::kNotRepeatable, Unsteady()},
      {Cause::kNotRepeatable, Rechecked()},
      {Cause::kNotRepeatable, Starts(3, 3)},
      {Cause::kFirstRunOnly, FirstRun(kOther)},
      {Cause::kFirstRunOnly, FirstRun(WithLogprob(kAnswer, 3, -0.25))},
      {Cause::kPrefixCache, WarmDiffers()},
      {Cause::kPrefixCache, SharedDiffers()},
      {Cause::kSampling, Pair(Choosing(3, -0.25, -1.75), Choosing(9, -0.25, -1.75))},
      {Cause::kSampling, Pair(Choosing(3, -0.75, -0.75), Choosing(9, -0.75, -0.75), 0.8)},
      {Cause::kNumeric, Pair(Choosing(3, -0.70, -0.80), Choosing(9, -0.80, -0.70))},
      {Cause::kNumeric, Pair(kAnswer, WithLogprob(kAnswer, 0, -0.4))},
      {Cause::kUnknown, Pair(SaysOnly({1, 2, 3}), SaysOnly({1, 2, 4}))},
      {Cause::kUnknown, CandidatesNotTold()},
  };
  std::map<Cause, int> num_reached;
  for (const auto& [cause, run] : table) {
    EXPECT_EQ(ToString(run.JudgeFirst().cause), ToString(cause));
    ++num_reached[cause];
  }
  for (const Cause cause : AllCauses()) EXPECT_GE(num_reached[cause], 2) << ToString(cause);
}

struct ConditionRow {
  ConditionKind kind;
  const char* words;
  RunBuilder run;
};

std::vector<ConditionRow> AxisRows() {
  using Cells = std::vector<std::pair<int, bool>>;
  using Cuts = std::vector<std::pair<std::vector<int>, bool>>;
  return {
      {ConditionKind::kFormedSize, "in all batches >= 9, in none below",
       Varied(Cells{{2, false}, {8, false}, {9, true}, {16, true}}, OfSize)},
      {ConditionKind::kFormedSize, "in batches of 3, 5 only",
       Varied(Cells{{2, false}, {3, true}, {4, false}, {5, true}, {8, false}}, OfSize)},
      {ConditionKind::kNeighbourPrefill, "beside >= 257 prefill tokens, never beside fewer",
       Varied(Cells{{64, false}, {256, false}, {257, true}, {512, true}},
              OnAxis("neighbour_prefill"))},
      {ConditionKind::kNeighbourPrefill, "beside 9, 255 prefill tokens only",
       Varied(Cells{{1, false}, {9, true}, {64, false}, {255, true}, {256, false}},
              OnAxis("neighbour_prefill"))},
      {ConditionKind::kSameStepPrefill,
       "with >= 64 neighbour prefill tokens in its engine step, never with fewer",
       Varied(Cells{{0, false}, {1, false}, {64, true}, {256, true}}, BesidePrefill)},
      {ConditionKind::kSameStepPrefill, "with 1 neighbour prefill tokens in its engine step only",
       Varied(Cells{{0, false}, {1, true}, {64, false}}, BesidePrefill)},
      {ConditionKind::kCachedTokens, "with >= 8 cached tokens, never with fewer", WarmDiffers()},
      {ConditionKind::kCachedTokens, "with 4 cached tokens only",
       Varied(Cells{{4, true}, {8, false}}, WithCached)},
      {ConditionKind::kItem, "at item 7 only", AtItems({7})},
      {ConditionKind::kItem, "at all items from 5 on, at none before", AtItems({5, 6, 7})},
      {ConditionKind::kHistory, "after aborted requests only",
       Varied(Cells{{1, false}, {2, false}, {3, true}, {5, false}}, OnAxis("history"))},
      {ConditionKind::kHistory, "after a large batch, memory pressure only",
       Varied(Cells{{1, true}, {2, false}, {4, true}}, OnAxis("history"))},
      {ConditionKind::kChunkBoundary,
       "where its prompt was prefilled in >= 2 chunks, never in fewer",
       Varied(Cuts{{{}, false}, {{4}, true}, {{4, 8}, true}}, CutAt)},
      {ConditionKind::kChunkBoundary, "where the first chunk of its prompt ends at 5 only",
       Varied(Cuts{{{4}, false}, {{5}, true}, {{8}, false}}, CutAt)},
      {ConditionKind::kOtherAxis, "where shared_prefix >= 16, never below",
       Varied(Cells{{1, false}, {16, true}, {512, true}}, OnAxis("shared_prefix"))},
      {ConditionKind::kOtherAxis, "where sharing is 2 only",
       Varied(Cells{{1, false}, {2, true}, {3, false}}, OnAxis("sharing"))},
  };
}

std::vector<ConditionRow> OtherRows() {
  using Cells = std::vector<std::pair<int, bool>>;
  return {
      {ConditionKind::kNone, "", SteadyRun(kAnswer)},
      {ConditionKind::kNone, "", Scattered(kOther, kOther)},
      {ConditionKind::kAbsolutePosition,
       "tokens always part at absolute position 14 (2 different answers)",
       Scattered(kOther, kThird)},
      {ConditionKind::kAbsolutePosition,
       "logprobs always part at absolute position 15 (2 different answers)",
       Scattered(WithLogprob(kAnswer, 3, -0.25), WithLogprob(kAnswer, 3, -0.75))},
      {ConditionKind::kTwoAxes, "in all batches >= 8, in none below; there at item 3 only",
       AtItemOfLargeBatches(3)},
      {ConditionKind::kTwoAxes, "in all batches >= 8, in none below; there at item 0 only",
       AtItemOfLargeBatches(0)},
      {ConditionKind::kVariedSteps, "in all varied steps, never alone",
       Varied(Cells{{1, true}, {2, true}}, OnAxis("arrivals"))},
      {ConditionKind::kVariedSteps, "after all other traffic, never before it",
       Varied(Cells{{1, true}, {2, true}, {3, true}}, OnAxis("history"))},
      {ConditionKind::kIntermittent, "intermittent: 4 of 13 samples", Repeated({kAnswer, kOther})},
      {ConditionKind::kIntermittent, "intermittent: 2 of 5 samples", Unsteady()},
      {ConditionKind::kRestart, "after a restart only", Starts(5, 5)},
      {ConditionKind::kRestart, "after a restart only", Starts(1, 4)},
      {ConditionKind::kFirstRun, "in the first run only", FirstRun(kOther)},
      {ConditionKind::kFirstRun, "in the first run only", FirstRun(WithLogprob(kAnswer, 0, -0.25))},
  };
}

TEST(Conditions, EachKindIsReachedTwice) {
  std::vector<ConditionRow> rows = AxisRows();
  for (ConditionRow& row : OtherRows()) rows.push_back(std::move(row));
  std::map<ConditionKind, int> num_reached;
  for (const ConditionRow& row : rows) {
    const RequestJudgement request = row.run.JudgeFirst();
    EXPECT_EQ(request.condition, row.words);
    EXPECT_EQ(ToString(request.condition_kind), ToString(row.kind)) << row.words;
    ++num_reached[row.kind];
  }
  for (const ConditionKind kind : AllConditionKinds()) {
    EXPECT_GE(num_reached[kind], 2) << ToString(kind);
  }
}

}  // namespace
}  // namespace detcheck
