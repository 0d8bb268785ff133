#pragma once

#include <string>
#include <vector>

#include "reports/gate_cases.h"

namespace detcheck {

/// Lines that GitHub shows as annotations: an error for each divergence and each trouble, a warning
/// for what is inconclusive or unsupported; at most ten of a kind, as GitHub shows no more, the
/// last of them a count where there are more. Empty where all passed.
std::string RenderAnnotations(const std::vector<GateSuite>& suites);

}  // namespace detcheck
