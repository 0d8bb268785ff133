#pragma once

#include <optional>
#include <string>

#include "fixtures/criterion.h"
#include "reports/samples.h"
#include "reports/text_findings.h"

namespace detcheck {

/// Why the samples are too few to show anything under `criterion`; absent where they are not.
/// `texts`: what was found of their texts.
std::optional<std::string> LacksPower(const RequestSamples& samples, CriterionKind criterion,
                                      const TextFindings& texts);

}  // namespace detcheck
