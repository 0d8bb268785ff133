#pragma once

#include "cli/option_adder.h"
#include "cli/options.h"

namespace detcheck {

// Options that commands share which run a plan, judge reports or render them.

/// --allow-inconclusive
void AddAllowed(OptionAdder* add, Options* options);

/// How to run a plan and to judge it; that among them.
void AddRunOptions(OptionAdder* add, Options* options);

/// --junit and --markdown
void AddRenderings(OptionAdder* add, RenderingPaths* paths);

/// --html
void AddPage(OptionAdder* add, RenderingPaths* paths);

/// --color
void AddColor(OptionAdder* add, Options* options);

/// --report, and all of the output's that are above.
void AddOutputOptions(OptionAdder* add, Options* options);

}  // namespace detcheck
