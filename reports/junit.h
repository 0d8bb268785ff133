#pragma once

#include <string>
#include <vector>

#include "reports/gate_cases.h"

namespace detcheck {

/// JUnit XML in what the readers of Jenkins and GitLab have in common. A divergence is a failure,
/// trouble is an error, what is inconclusive, unsupported or does not decide is skipped, with its
/// reason. Whatever a
/// target or a file said comes in as characters of XML 1.0.
std::string RenderJunit(const std::vector<GateSuite>& suites);

}  // namespace detcheck
