#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/evidence.h"
#include "reports/judgement.h"
#include "reports/samples.h"

namespace detcheck {

/// Why the samples are too few to show anything under `criterion`; absent where they are not.
std::optional<std::string> LacksPower(const RequestSamples& samples, CriterionKind criterion);

/// Judges the samples of one request under the plan's criterion. `findings` are the cells of the
/// mode that prove nothing; those in which the request is a subject bear on it.
RequestJudgement JudgeRequest(const Plan& plan, Mode mode, const RequestSamples& samples,
                              const std::vector<CellFinding>& findings);

}  // namespace detcheck
