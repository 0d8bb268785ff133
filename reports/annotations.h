#pragma once

#include <string>
#include <vector>

#include "reports/gate_cases.h"

namespace detcheck {

/// Lines that GitHub shows as annotations: an error for each divergence and each trouble, a warning
/// for what is inconclusive, unsupported or does not decide, and a notice of each report's scope;
/// at most ten of a kind, as GitHub shows no more, the last error or warning a count where there
/// are more.
std::string RenderAnnotations(const std::vector<GateSuite>& suites);

}  // namespace detcheck
