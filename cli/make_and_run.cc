#include "cli/make_and_run.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/execute.h"
#include "cli/fixture_choice.h"
#include "cli/print.h"
#include "engine/base/error.h"
#include "fixtures/file_io.h"
#include "fixtures/shard.h"
#include "reports/criteria/text_check.h"

namespace detcheck {
namespace {

// Runs `make`. What is wrong with an option is wrong in the file where that declares it.
template <typename Make>
auto Placed(const Protocol* protocol, const Options& options, const char* place, const Make& make) {
  try {
    return make();
  } catch (const Error& error) {
    if (protocol == nullptr || error.code() != ErrorCode::kUsage) throw;
    throw Error(ErrorCode::kInput,
                fmt::format("{}: {}: {}", OneLine(options.plan_file), place, error.what()));
  }
}

// Where the tokenizer is that fixtures may have been made with.
std::string ModelFolder(const TargetOptions& target) {
  if (target.remote.tokenizer.empty()) return target.embedded.model;
  return std::filesystem::path(target.remote.tokenizer).parent_path().string();
}

}  // namespace

ExitStatus MakeAndRun(ModeSettings settings, const std::vector<std::string>& fixtures,
                      const Protocol* protocol, const Options& options, RunFiles* files,
                      const std::atomic<bool>& stop) {
  const auto check = Placed(protocol, options, "criterion",
                            [&] { return MakeTextCheck(settings.criterion, stop); });
  const ChosenFixtures chosen = Placed(protocol, options, "fixtures", [&] {
    return ChooseFixtures(fixtures, ModelFolder(options.target));
  });
  Targets targets(options.target);
  const TargetFacts facts = targets.Facts();
  RequireFits(chosen, facts, settings.max_new_tokens);
  settings.fixtures = chosen.subject_ids;
  Plan plan = Placed(protocol, options, "settings",
                     [&] { return MakePlan(chosen.fixtures, settings, facts); });
  plan.modes_named = protocol != nullptr;
  if (options.shard) plan = ShardOf(plan, options.shard->index, options.shard->count);
  if (!options.dry_run) {
    return ExecutePlan(plan, {check.get(), protocol, nullptr}, &targets, files, options, stop);
  }
  PrintResult(DescribePlan(plan));
  if (!options.save_plan.empty()) {
    WriteFileAtomically(options.save_plan, PlanToJson(plan) + '\n');
  }
  return ExitStatus::kPass;
}

}  // namespace detcheck
