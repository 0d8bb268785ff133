#include "tests/cli/testing.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "cli/fixture_choice.h"
#include "fixtures/shard.h"
#include "reports/manifest_fields.h"

namespace detcheck {

const std::vector<Mode>& AllModes() {
  static const std::vector<Mode> kModes = {Mode::kSingle, Mode::kBatch,      Mode::kMixed,
                                           Mode::kPrefix, Mode::kRadixCache, Mode::kPvsD,
                                           Mode::kSeeds,  Mode::kHistory};
  return kModes;
}

Plan QuickPlan(const std::vector<Mode>& modes, const FakeOptions& target, CriterionKind criterion) {
  ModeSettings settings;
  settings.profile = Profile::kQuick;
  settings.modes = modes;
  settings.max_new_tokens = 40;  // long enough for the arrivals of `mixed`
  settings.criterion.kind = criterion;
  const ChosenFixtures chosen = ChooseFixtures({}, "synthetic:none");
  return MakePlan(chosen.fixtures, settings, FakeBackend(target).Describe().facts);
}

SmallPlan::SmallPlan() {
  plan.modes = {Mode::kSingle};
  plan.vocab_size = 32000;
  plan.prompts.push_back({"p", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}});
  PlannedRequest request;
  request.id = "p";
  request.prompt = {PromptSlice{0, 0, 18}};
  request.max_new_tokens = 8;
  plan.requests.push_back(request);
}

Step& SmallPlan::Add(StepKind kind, Arm arm) {
  Step step;
  step.kind = kind;
  step.arm = arm;
  step.cache = CacheState::kAny;
  plan.steps.push_back(step);
  return plan.steps.back();
}

Step& SmallPlan::AddBatch(int num_items, Arm arm, CacheWish cache) {
  Step& step = Add(StepKind::kBatch, arm);
  step.cache = cache == CacheWish::kBypass ? CacheState::kCold : CacheState::kAny;
  PlannedItem item;
  item.top_logprobs = 2;
  item.cache = cache;
  step.items.assign(static_cast<size_t>(num_items), item);
  return step;
}

TestRun RunPlan(const Plan& plan, Backend* backend, const RunnerSettings& settings,
                TranscriptWriter* writer, RunObserver* observer) {
  const std::atomic<bool> stop = false;
  RunnerSettings without_pauses = settings;
  without_pauses.retry_pause_s = 0.0;
  TestRun run;
  run.transcript.identity = IdentityDigest(backend->Describe().subject);
  Runner runner(plan, backend, without_pauses, stop, writer, observer, &run.transcript);
  run.end = runner.Run(StepsToRun(plan));
  return run;
}

Thrown ErrorOf(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  ADD_FAILURE() << "no Error was thrown";
  return {};
}

TempFolder::TempFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "detcheck-XXXXXX").string();
  path_ = mkdtemp(name.data());
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace detcheck
