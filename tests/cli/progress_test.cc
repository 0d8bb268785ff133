#include "cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/file_io.h"
#include "fixtures/shard.h"
#include "tests/cli/testing.h"

namespace detcheck {
namespace {

TEST(Progress, ALinePerTenthWhereThereIsNoTerminal) {
  TempFolder folder;
  SmallPlan small;
  small.AddBatch(1);
  small.AddBatch(1);
  std::FILE* out = std::fopen(folder.Path("out").c_str(), "w");
  {
    Progress progress(small.plan, StepsToRun(small.plan), out);
    FakeBackend backend{FakeOptions{}};
    RunPlan(small.plan, &backend, {}, nullptr, &progress);
  }
  std::fclose(out);
  const std::string text = ReadFile(folder.Path("out"));
  EXPECT_THAT(text, testing::ContainsRegex("100 %  step 2 of 2  [0-9]+:[0-5][0-9]\n$"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("\r")));
}

TEST(Progress, NothingWithoutAFile) {
  SmallPlan small;
  small.AddBatch(1);
  Progress progress(small.plan, StepsToRun(small.plan), nullptr);
  progress.OnStepStarted(0);
  progress.OnTokens(3);
  progress.OnStepEnded(0);
}

}  // namespace
}  // namespace detcheck
