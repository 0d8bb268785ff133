#include "reports/response_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/run_builder.h"

namespace detcheck {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

Completion Timed(double seconds_per_token) {
  Completion answer = Says({1, 2, 3, 4, 5});
  answer.times = {0.0, 0.5, 0.5 + 4 * seconds_per_token};
  return answer;
}

// A first batch that warms up; then each request once at `unseen` and four times at `repeat`.
RunBuilder TimedRun(int num_requests, double unseen, const std::vector<double>& repeat) {
  RunBuilder run;
  run.Solo(Arm::kControlCold, Timed(1.0));
  for (int i = 1; i <= num_requests; ++i) {
    const int request = run.AddRequest("q" + std::to_string(i));
    for (int k = 0; k < 5; ++k) {
      run.Solo(Arm::kControlCold, Timed(k == 0 ? unseen : repeat[static_cast<size_t>(k - 1)]));
      run.LastStep().items[0].request = request;
      run.LastRecord().prompt_digests[0] = std::string(64, static_cast<char>('a' + i));
    }
  }
  for (int k = 0; k < 2; ++k) run.Solo(Arm::kControlCold, Timed(0.01));
  return run;
}

RequestJudgement SecondOf(const RunBuilder& run) {
  return run.Judge().modes.at(0).requests.at(1);
}

TEST(ResponseCache, FarFasterRepeatsAreInconclusive) {
  const RequestJudgement request = SecondOf(TimedRun(2, 0.01, {0.001, 0.001, 0.0, 0.0019}));
  EXPECT_EQ(request.verdict, Verdict::kInconclusive);
  EXPECT_THAT(request.reasons, Contains(HasSubstr("cache of whole answers is suspected")));
}

TEST(ResponseCache, OneRepeatAtFullCostClearsTheRequest) {
  EXPECT_EQ(SecondOf(TimedRun(2, 0.01, {0.001, 0.001, 0.01, 0.001})).verdict, Verdict::kPass);
}

TEST(ResponseCache, AFifthIsNotBelowAFifth) {
  EXPECT_EQ(SecondOf(TimedRun(2, 0.5, {0.1, 0.1, 0.1, 0.1})).verdict, Verdict::kPass);
}

TEST(ResponseCache, OtherBatchSizesAreNotCompared) {
  RunBuilder run = TimedRun(1, 0.01, {0.001, 0.001, 0.001, 0.001});
  for (StepRecord& record : run.transcript().records) {
    if (record.completions[0].times.last_token < 0.51) {
      record.completions[0].witness.formed_size = 2;
    }
  }
  EXPECT_EQ(SecondOf(run).verdict, Verdict::kPass);
}

TEST(ResponseCache, WithoutTimesNothingIsSaid) {
  RunBuilder run = TimedRun(2, 0.01, {0.001, 0.001, 0.001, 0.001});
  for (StepRecord& record : run.transcript().records) record.completions[0].times = {};
  EXPECT_EQ(SecondOf(run).verdict, Verdict::kPass);
}

}  // namespace
}  // namespace detcheck
