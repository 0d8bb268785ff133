#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "cli/resume.h"
#include "fixtures/shard.h"
#include "reports/manifest_fields.h"
#include "tests/cli/testing.h"

namespace detcheck {
namespace {

using testing::HasSubstr;

// Sets the flag when a step begins.
class StopAtStep : public RunObserver {
 public:
  StopAtStep(std::atomic<bool>* stop, int step) : stop_(stop), step_(step) {}
  void OnStepStarted(int step) override { *stop_ = *stop_ || step == step_; }
  void OnTokens(int) override {}
  void OnStepEnded(int) override {}

 private:
  std::atomic<bool>* stop_;
  int step_;
};

// Answers of the attempts that count, by step and item.
std::map<std::pair<int, int>, std::set<std::vector<TokenId>>> Answers(
    const Transcript& transcript) {
  std::map<std::pair<int, int>, std::set<std::vector<TokenId>>> answers;
  for (const StepRecord& record : transcript.records) {
    if (record.voided) continue;
    for (size_t i = 0; i < record.completions.size(); ++i) {
      answers[{record.step, static_cast<int>(i)}].insert(record.completions[i].token_ids);
    }
  }
  return answers;
}

// A run that is stopped at `stop_step` and gone on with in a new process, so to say.
class ResumeTest : public testing::Test {
 protected:
  Transcript RunUntil(const Plan& plan, int stop_step) {
    FakeBackend backend{FakeOptions{}};
    std::atomic<bool> stop = false;
    StopAtStep observer(&stop, stop_step);
    TranscriptWriter writer(path(), PlanDigest(plan), identity_, false);
    Transcript transcript;
    Runner runner(plan, &backend, {}, stop, &writer, &observer, &transcript);
    EXPECT_EQ(runner.Run(StepsToRun(plan)), RunEnd::kInterrupted);
    return transcript;
  }

  Resumption Resume(const Plan& plan) {
    return ResumeFrom(ReadTranscript(path()), path(), plan, PlanDigest(plan), identity_);
  }

  Transcript Finish(const Plan& plan, Resumption resumption) {
    FakeBackend backend{FakeOptions{}};
    const std::atomic<bool> stop = false;
    Runner runner(plan, &backend, {}, stop, nullptr, nullptr, &resumption.transcript);
    EXPECT_EQ(runner.Run(resumption.order), RunEnd::kComplete);
    return resumption.transcript;
  }

  std::string path() const { return folder_.Path("t.jsonl"); }

  TempFolder folder_;
  const std::string identity_ = IdentityDigest(FakeBackend{FakeOptions{}}.Describe().subject);
};

TEST_F(ResumeTest, EqualsARunThatWasNotInterrupted) {
  const Plan plan = QuickPlan({Mode::kSingle, Mode::kRadixCache}, FakeOptions{});
  FakeBackend backend{FakeOptions{}};
  const Transcript whole = RunPlan(plan, &backend).transcript;
  const int num_steps = static_cast<int>(plan.steps.size());
  for (const int stop_step : {0, 1, 7, num_steps / 2, num_steps / 2 + 1, num_steps - 3}) {
    SCOPED_TRACE(stop_step);
    RunUntil(plan, stop_step);
    const Transcript resumed = Finish(plan, Resume(plan));
    EXPECT_TRUE(resumed.complete);
    EXPECT_EQ(Answers(resumed), Answers(whole));
    EXPECT_EQ(Judge(plan, resumed).verdict, Verdict::kPass);
  }
}

TEST_F(ResumeTest, RepeatsTheControlArmOfTheModeInAnotherLaunch) {
  const Plan plan = QuickPlan({Mode::kSingle}, FakeOptions{});
  RunUntil(plan, 10);  // five control steps, then varied ones
  const Resumption resumption = Resume(plan);
  EXPECT_THAT(std::vector<int>(resumption.order.begin(), resumption.order.begin() + 6),
              testing::ElementsAre(0, 1, 2, 3, 4, 10));
  const Transcript resumed = Finish(plan, resumption);
  std::set<std::pair<int, int>> of_control;  // attempt and launch
  for (const StepRecord& record : resumed.records) {
    if (record.step == 0) of_control.emplace(record.attempt, record.launch);
  }
  EXPECT_THAT(of_control, testing::ElementsAre(std::pair(0, 0), std::pair(1, 1)));
}

TEST_F(ResumeTest, ATargetThatAnswersOtherwiseAfterItsRestartFailsForThat) {
  const Plan plan = QuickPlan({Mode::kSingle}, FakeOptions{});
  RunUntil(plan, 10);
  Resumption resumption = Resume(plan);
  FakeOptions options;
  options.fault = Fault::kAfterRestart;
  FakeBackend backend(options);
  for (int i = 0; i < 2; ++i) backend.Restart();
  const std::atomic<bool> stop = false;
  Runner runner(plan, &backend, {}, stop, nullptr, nullptr, &resumption.transcript);
  EXPECT_EQ(runner.Run(resumption.order), RunEnd::kComplete);
  const RequestJudgement request = Judge(plan, resumption.transcript).modes[0].requests[0];
  EXPECT_EQ(request.verdict, Verdict::kFail);
  EXPECT_EQ(request.condition_kind, ConditionKind::kRestart);
  EXPECT_THAT(request.reasons, testing::Contains(HasSubstr("(not_repeatable, restart)")));
}

TEST_F(ResumeTest, ControlOfFinishedFixturesIsNotRepeated) {
  const Plan plan = QuickPlan({Mode::kSingle}, FakeOptions{});
  int first_of_second = 0;
  while (plan.steps[first_of_second].arm != Arm::kControlCold ||
         plan.steps[first_of_second].items[0].request == 0) {
    ++first_of_second;
  }
  RunUntil(plan, first_of_second);
  EXPECT_EQ(Resume(plan).order.front(), first_of_second);
}

TEST_F(ResumeTest, AStepThatNeedsAWarmCacheIsPreparedAgain) {
  const Plan plan = QuickPlan({Mode::kRadixCache}, FakeOptions{});
  int warm = 0;
  while (plan.steps[warm].arm != Arm::kControlWarm) ++warm;
  RunUntil(plan, warm + 2);
  const Resumption resumption = Resume(plan);
  const auto at = std::find(resumption.order.begin(), resumption.order.end(), warm);
  ASSERT_NE(at, resumption.order.begin());
  EXPECT_EQ(plan.steps[*(at - 1)].arm, Arm::kPrepare);
  EXPECT_EQ(plan.steps[*(at - 2)].kind, StepKind::kFlush);
  // The warm samples of the first launch are voided, and stay in evidence.
  int num_kept = 0;
  for (const StepRecord& record : resumption.transcript.records) {
    if (record.step == warm && record.voided) ++num_kept;
  }
  EXPECT_EQ(num_kept, 1);
}

TEST_F(ResumeTest, CanBeInterruptedAgain) {
  const Plan plan = QuickPlan({Mode::kRadixCache}, FakeOptions{});
  const int middle = static_cast<int>(plan.steps.size()) / 2;
  RunUntil(plan, middle);
  for (const int stop_step : {middle, middle + 4}) {
    Resumption resumption = Resume(plan);
    FakeBackend backend{FakeOptions{}};
    std::atomic<bool> stop = false;
    StopAtStep observer(&stop, stop_step);
    TranscriptWriter writer(path(), PlanDigest(plan), identity_, false);
    for (const StepRecord& record : resumption.transcript.records) writer.Append(record);
    Runner runner(plan, &backend, {}, stop, &writer, &observer, &resumption.transcript);
    EXPECT_EQ(runner.Run(resumption.order), RunEnd::kInterrupted);
  }
  const Transcript resumed = Finish(plan, Resume(plan));
  const Judgement judgement = Judge(plan, resumed);
  EXPECT_EQ(judgement.verdict, Verdict::kPass)
      << testing::PrintToString(judgement.modes[0].reasons);
  EXPECT_EQ(resumed.records.back().launch, 3);
}

TEST_F(ResumeTest, RefusesAnotherPlanAndAnotherTarget) {
  const Plan plan = QuickPlan({Mode::kSingle}, FakeOptions{});
  RunUntil(plan, 3);
  const Thrown other_plan =
      ErrorOf([&] { ResumeFrom(ReadTranscript(path()), path(), plan, "abc", identity_); });
  EXPECT_EQ(other_plan.code, ErrorCode::kInput);
  EXPECT_THAT(other_plan.message, HasSubstr(": line 1: of another plan"));
  const Thrown other_target = ErrorOf(
      [&] { ResumeFrom(ReadTranscript(path()), path(), plan, PlanDigest(plan), "another"); });
  EXPECT_EQ(other_target.message, path() + ": line 1: the target is not the one that answered it");
}

}  // namespace
}  // namespace detcheck
