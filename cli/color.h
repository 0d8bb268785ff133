#pragma once

#include "cli/options.h"

namespace detcheck {

/// Whether the result on stdout is to be coloured.
bool WantsColor(ColorWish wish);

}  // namespace detcheck
