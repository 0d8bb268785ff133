// detcheck single|batch|mixed|prefix|radix_cache|all: make a plan, and run it.

#include "cli/commands.h"
#include "cli/execute.h"
#include "cli/fixture_choice.h"
#include "cli/print.h"
#include "cli/target.h"
#include "fixtures/file_io.h"

namespace detcheck {
namespace {

Plan PlanFor(const Options& options, const TargetFacts& facts) {
  ModeSettings settings = options.settings;
  ChosenFixtures chosen = ChooseFixtures(options.fixtures, options.target.embedded.model, facts,
                                         settings.max_new_tokens);
  settings.fixtures = chosen.subject_ids;
  return MakePlan(chosen.fixtures, settings, facts);
}

}  // namespace

ExitStatus RunModesCommand(const Options& options, const std::atomic<bool>& stop) {
  const std::unique_ptr<Backend> backend = StartTarget(options);
  const Plan plan = PlanFor(options, backend->Describe().facts);
  if (!options.dry_run) {
    return ExecutePlan(plan, options.all_modes, backend.get(), options, stop);
  }
  PrintResult(DescribePlan(plan));
  if (!options.save_plan.empty()) {
    WriteFileAtomically(options.save_plan, PlanToJson(plan) + '\n');
  }
  return ExitStatus::kPass;
}

}  // namespace detcheck
