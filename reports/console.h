#pragma once

#include <string>

#include "reports/report.h"

namespace detcheck {

/// The result for a person, to be printed on stdout; ends in a newline. One line for each fixture
/// that passes, with the field's `Total samples: N, Unique samples: M`; a block for each that does
/// not; then the scope and the overall verdict. `color`: with terminal colours.
std::string RenderConsole(const Report& report, bool color);

}  // namespace detcheck
