#pragma once

#include "cli/option_adder.h"
#include "cli/options.h"

namespace detcheck {

/// The options that say what a mode runs: fixtures, sizes, criterion, scope, sampling.
void AddPlanOptions(OptionAdder* add, Options* options);

/// --shard.
void AddShard(OptionAdder* add, Options* options);

}  // namespace detcheck
