#include "reports/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/run_builder.h"

namespace detcheck {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Completion kAnswer = Says({1, 2, 3, 4});
const Completion kOther = Says({1, 2, 9, 4});

struct Attempted {
  Step step;
  StepRecord record;

  explicit Attempted(int size = 2) {
    step = RunBuilder().BatchOf(size);
    step.evidence = {};
    record.completions.assign(size, kAnswer);
    for (Completion& answer : record.completions) answer.witness.formed_size = size;
  }
  std::optional<std::string> Missed() const { return MissedEvidence(step, record); }
};

TEST(Evidence, NothingAskedForNothingMissed) {
  EXPECT_FALSE(Attempted().Missed());
}

TEST(Evidence, FormedSize) {
  Attempted attempted(8);
  attempted.step.evidence.min_formed_size = 8;
  EXPECT_FALSE(attempted.Missed());
  Witness& witness = attempted.record.completions[3].witness;
  witness.formed_size = 7;
  EXPECT_EQ(attempted.Missed(), "missed witness: formed size 7 of 8 (item 3)");
  witness.formed_size.reset();
  EXPECT_EQ(attempted.Missed(), "missed witness: formed size not known (item 3)");
  witness.formed_size = 8;
  witness.source = WitnessSource::kNone;
  EXPECT_EQ(attempted.Missed(), "missed witness: formed size not known (item 3)");
}

TEST(Evidence, NeighboursNeedNotShowIt) {
  Attempted attempted;
  attempted.step.evidence.min_formed_size = 2;
  attempted.step.items[1].subject = false;
  attempted.record.completions[1].witness = {};
  EXPECT_FALSE(attempted.Missed());
}

TEST(Evidence, CachedTokens) {
  Attempted attempted;
  attempted.step.evidence.max_cached_tokens = 0;
  EXPECT_FALSE(attempted.Missed());
  attempted.record.completions[0].witness.cached_tokens = 16;
  EXPECT_EQ(attempted.Missed(), "missed witness: 16 cached tokens, at most 0 allowed (item 0)");
  attempted.step.evidence = {};
  attempted.step.evidence.min_cached_tokens = 17;
  EXPECT_EQ(attempted.Missed(), "missed witness: 16 cached tokens, at least 17 needed (item 0)");
  attempted.record.completions[0].witness.cached_tokens.reset();
  EXPECT_EQ(attempted.Missed(), "missed witness: cached tokens not known (item 0)");
}

TEST(Evidence, OverlapInOrBetweenEngineSteps) {
  Attempted attempted(1);
  attempted.step.evidence.overlap = true;
  Witness& witness = attempted.record.completions[0].witness;
  EXPECT_EQ(attempted.Missed(),
            "missed witness: overlap with a neighbour's prefill not known (item 0)");
  witness.same_step_prefill_tokens = 0;
  witness.interleaved_prefill_tokens = 0;
  EXPECT_EQ(attempted.Missed(), "missed witness: no neighbour's prefill while it decoded (item 0)");
  witness.interleaved_prefill_tokens = 64;
  EXPECT_FALSE(attempted.Missed());
  witness.interleaved_prefill_tokens = 0;
  witness.same_step_prefill_tokens = 64;
  EXPECT_FALSE(attempted.Missed());
}

TEST(Evidence, PreemptionOfAnyItem) {
  Attempted attempted;
  attempted.step.evidence.preemption = true;
  attempted.step.items[1].subject = false;
  EXPECT_EQ(attempted.Missed(), "missed witness: no item was preempted");
  attempted.record.completions[1].witness.preemptions = 1;
  EXPECT_FALSE(attempted.Missed());
}

TEST(Evidence, MissingItems) {
  Attempted attempted;
  attempted.record.completions.pop_back();
  EXPECT_EQ(attempted.Missed(), "missed witness: 1 of 2 items answered");
}

TEST(Evidence, RefusedFlush) {
  Step step;
  step.kind = StepKind::kFlush;
  StepRecord record;
  record.detail = "requests are running";
  EXPECT_EQ(MissedEvidence(step, record), "missed witness: flush refused (requests are running)");
  record.flush_accepted = true;
  EXPECT_FALSE(MissedEvidence(step, record));
}

TEST(Cells, BatchThatNeverFormedIsInconclusive) {
  RunBuilder run = SteadyRun(kAnswer);
  run.Batch({kAnswer, kAnswer, kAnswer});
  for (Completion& answer : run.LastRecord().completions) answer.witness.formed_size = 2;
  const Judgement judgement = run.Judge();
  EXPECT_EQ(judgement.verdict, Verdict::kInconclusive);
  EXPECT_THAT(judgement.modes[0].reasons,
              ElementsAre("step 8 'batch of 3' never formed in 1 attempt: missed witness: formed "
                          "size 2 of 3 (item 0)"));
}

TEST(Cells, SecondAttemptThatFormedIsEnough) {
  RunBuilder run = SteadyRun(kAnswer);
  run.Batch({kAnswer, kAnswer});
  StepRecord again = run.LastRecord();
  run.LastRecord().voided = "503";
  again.attempt = 1;
  run.transcript().records.push_back(again);
  EXPECT_EQ(run.Judge().verdict, Verdict::kPass);
  EXPECT_EQ(run.JudgeFirst().total_samples, 23);
}

TEST(Cells, DivergenceInAVoidedAttemptFails) {
  RunBuilder run = SteadyRun(kAnswer);
  run.Batch({kAnswer, kAnswer});
  StepRecord again = run.LastRecord();
  run.LastRecord().voided = "missed witness: formed size 1 of 2 (item 0)";
  run.LastRecord().completions[1] = kOther;
  again.attempt = 1;
  run.transcript().records.push_back(again);
  EXPECT_EQ(run.Judge().verdict, Verdict::kFail);
}

TEST(Cells, FailureBeatsAMissedWitness) {
  RunBuilder run = SteadyRun(kAnswer);
  run.Batch({kAnswer, kOther});
  run.Batch({kAnswer, kAnswer});
  run.LastRecord().completions[0].witness = {};
  EXPECT_EQ(run.Judge().verdict, Verdict::kFail);
  EXPECT_THAT(run.JudgeFirst().reasons, Contains(HasSubstr("never formed")));
}

TEST(Cells, ItemsThatFailMakeAnError) {
  RunBuilder run = SteadyRun(kAnswer);
  run.Batch({kAnswer, Broken("503 overloaded")});
  Judgement judgement = run.Judge();
  EXPECT_EQ(judgement.verdict, Verdict::kError);
  EXPECT_EQ(ExitCode(judgement.verdict), 4);
  EXPECT_THAT(judgement.modes[0].reasons,
              ElementsAre("step 8 'batch of 2' failed: item 1: 503 overloaded"));
  EXPECT_EQ(judgement.modes[0].requests[0].total_samples, 20);
  run.Batch({kAnswer, kOther});
  EXPECT_EQ(run.Judge().verdict, Verdict::kFail);
}

TEST(Cells, StepThatFailedInEveryAttemptIsAnError) {
  RunBuilder run = SteadyRun(kAnswer);
  StepRecord record;
  record.error = "connection refused";
  record.voided = "could not be carried out: connection refused";
  run.Add(run.BatchOf(2), record);
  EXPECT_EQ(run.Judge().verdict, Verdict::kError);
}

TEST(Cells, FailedAttemptIsForgivenByAWholeOne) {
  RunBuilder run = SteadyRun(kAnswer);
  run.Batch({kAnswer, kAnswer});
  StepRecord failed = run.LastRecord();
  failed.completions = {kAnswer, Broken("503")};
  failed.voided = "503";
  run.transcript().records.insert(run.transcript().records.end() - 1, failed);
  EXPECT_EQ(run.Judge().verdict, Verdict::kPass);
}

TEST(Cells, RefusedFlushIsInconclusive) {
  RunBuilder run = SteadyRun(kAnswer);
  Step step;
  step.kind = StepKind::kFlush;
  step.label = "flush";
  run.Add(step, StepRecord{});
  EXPECT_EQ(run.Judge().verdict, Verdict::kInconclusive);
  EXPECT_THAT(run.Judge().modes[0].reasons,
              ElementsAre("step 8 'flush' never counted in 1 attempt: missed witness: flush "
                          "refused"));
}

}  // namespace
}  // namespace detcheck
