#pragma once

#include <string>
#include <vector>

#include "reports/judgement.h"
#include "reports/samples.h"
#include "reports/text_findings.h"

namespace detcheck {

/// Samples by what was found of their texts. Those without a whole text are in none of the counts.
ValidityCounts CountValidity(const std::vector<Sample>& samples, const TextFindings& findings);

/// "the pattern does not match (record 3, item 0)": of the first sample with that finding; empty
/// where there is none.
std::string WhyNotValid(const std::vector<Sample>& samples, const TextFindings& findings,
                        Validity validity);

}  // namespace detcheck
