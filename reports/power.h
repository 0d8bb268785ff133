#pragma once

#include <optional>
#include <string>

#include "fixtures/criterion.h"
#include "reports/samples.h"
#include "reports/text_findings.h"

namespace detcheck {

/// Why the samples show too little under `criterion`: they are too few, there is nothing in them, or
/// some have nothing of what the others are compared by. Absent where they show enough. `texts`:
/// what was found of their texts.
std::optional<std::string> LacksPower(const RequestSamples& samples, CriterionKind criterion,
                                      const TextFindings& texts);

}  // namespace detcheck
