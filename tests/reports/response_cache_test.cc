#include "reports/response_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/run_builder.h"

namespace detcheck {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

Completion Timed(double seconds_per_token) {
  Completion answer = Says({1, 2, 3, 4, 5, 6, 7, 8});
  answer.times = {0.0, 0.5, 0.5 + 7 * seconds_per_token};
  return answer;
}

void SoloOf(int request, Arm arm, const Completion& answer, RunBuilder* run) {
  run->Solo(arm, answer);
  run->LastStep().items[0].request = request;
  run->LastStep().items[0].subject = arm != Arm::kSalted;
  run->LastRecord().prompt_digests[0] = std::string(64, static_cast<char>('a' + request % 6));
}

constexpr double kNoCopy = -1.0;

// A first batch that warms up; then q01 once at `unseen`, and four times at `repeat`; then, where
// `salted` is a time, a salted copy of it.
RunBuilder TimedRun(double unseen, const std::vector<double>& repeat, double salted) {
  RunBuilder run;
  SoloOf(run.AddRequest("first"), Arm::kControlCold, Timed(1.0), &run);
  SoloOf(0, Arm::kControlCold, Timed(unseen), &run);
  for (const double seconds : repeat) SoloOf(0, Arm::kControlCold, Timed(seconds), &run);
  if (salted != kNoCopy) {
    SoloOf(run.AddRequest("q01+salt"), Arm::kSalted, Timed(salted), &run);
  }
  return run;
}

const std::vector<double> kFast = {0.001, 0.001, 0.0, 0.0019};

TEST(ResponseCache, FarFasterThanASaltedCopyIsInconclusive) {
  const RequestJudgement request = TimedRun(0.01, kFast, 0.01).JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kInconclusive);
  EXPECT_THAT(request.reasons, Contains(HasSubstr("than a fifth of the time per token of a salted "
                                                  "copy: they came out of a cache")));
  const ModeJudgement mode = TimedRun(0.01, kFast, 0.01).Judge().modes[0];
  EXPECT_EQ(mode.verdict, Verdict::kInconclusive);
  EXPECT_THAT(mode.reasons, Contains(HasSubstr("they came out of a cache")));
}

TEST(ResponseCache, ASaltedCopyThatIsAsFastClearsTheRequest) {
  EXPECT_EQ(TimedRun(0.01, kFast, 0.002).JudgeFirst().verdict, Verdict::kPass);
}

TEST(ResponseCache, WithoutASaltedCopyItIsSuspected) {
  const RequestJudgement request = TimedRun(0.01, kFast, kNoCopy).JudgeFirst();
  EXPECT_EQ(request.verdict, Verdict::kInconclusive);
  EXPECT_THAT(request.reasons, Contains(HasSubstr("no salted copy was timed to confirm it")));
}

TEST(ResponseCache, OneRepeatAtFullCostClearsTheRequest) {
  EXPECT_EQ(TimedRun(0.01, {0.001, 0.001, 0.01, 0.001}, 0.01).JudgeFirst().verdict, Verdict::kPass);
}

TEST(ResponseCache, AFifthIsNotBelowAFifth) {
  EXPECT_EQ(TimedRun(0.5, {0.125, 0.125, 0.125, 0.125}, 0.5).JudgeFirst().verdict, Verdict::kPass);
}

TEST(ResponseCache, ASlowFirstTokenSaysNothing) {
  RunBuilder run = TimedRun(0.001, kFast, 0.001);
  CompletionTimes& times = run.transcript().records[1].completions[0].times;
  times.first_token += 100.0;
  times.last_token += 100.0;
  EXPECT_EQ(run.JudgeFirst().verdict, Verdict::kPass);
}

TEST(ResponseCache, OtherBatchSizesAreNotCompared) {
  RunBuilder run = TimedRun(0.01, kFast, 0.01);
  for (StepRecord& record : run.transcript().records) {
    if (record.completions[0].times.last_token < 0.52) {
      record.completions[0].witness.formed_size = 2;
    }
  }
  EXPECT_EQ(run.JudgeFirst().verdict, Verdict::kPass);
  EXPECT_THAT(run.Judge().modes[0].notes,
              Contains(HasSubstr("not checked: no unseen answer under the same conditions")));
}

TEST(ResponseCache, WithoutTimesANoteSaysSo) {
  RunBuilder run = TimedRun(0.01, kFast, 0.01);
  EXPECT_THAT(run.Judge().modes[0].notes, Each(Not(HasSubstr("cache of whole answers"))));
  for (StepRecord& record : run.transcript().records) record.completions[0].times = {};
  EXPECT_EQ(run.JudgeFirst().verdict, Verdict::kPass);
  EXPECT_THAT(run.Judge().modes[0].notes,
              Contains(HasSubstr("not checked: the target gives no times")));
}

TEST(ResponseCache, ShortAnswersAreNotTimed) {
  RunBuilder run = TimedRun(0.01, kFast, 0.01);
  for (StepRecord& record : run.transcript().records) {
    record.completions[0].token_ids.resize(7);
    record.completions[0].logprobs.resize(7);
  }
  EXPECT_EQ(run.JudgeFirst().verdict, Verdict::kPass);
}

TEST(ResponseCache, ASaltedCopyIsNoSample) {
  const Judgement judgement = TimedRun(0.01, {0.01, 0.01, 0.01, 0.01}, 0.01).Judge();
  EXPECT_EQ(judgement.modes[0].requests.size(), 2u);
  EXPECT_EQ(judgement.modes[0].num_batches, 2);
}

}  // namespace
}  // namespace detcheck
