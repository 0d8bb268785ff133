// detcheck single|batch|mixed|prefix|radix_cache|all: make a plan, and run it.

#include "cli/commands.h"
#include "cli/execute.h"
#include "cli/fixture_choice.h"
#include "cli/print.h"
#include "cli/renderings.h"
#include "fixtures/file_io.h"

namespace detcheck {

ExitStatus RunModesCommand(const Options& options, const std::atomic<bool>& stop) {
  RunFiles files(options.report);
  RequireWritable(options.renderings);
  const ChosenFixtures chosen = ChooseFixtures(options.fixtures, options.target.embedded.model);
  Target target(options.target);
  const TargetFacts& facts = target.description.facts;
  RequireFits(chosen, facts, options.settings.max_new_tokens);
  ModeSettings settings = options.settings;
  settings.fixtures = chosen.subject_ids;
  const Plan plan = MakePlan(chosen.fixtures, settings, facts);
  if (!options.dry_run) {
    return ExecutePlan(plan, options.all_modes, &target, &files, options, stop);
  }
  PrintResult(DescribePlan(plan));
  if (!options.save_plan.empty()) {
    WriteFileAtomically(options.save_plan, PlanToJson(plan) + '\n');
  }
  return ExitStatus::kPass;
}

}  // namespace detcheck
