#pragma once

#include <vector>

#include "reports/evidence.h"
#include "reports/judgement.h"
#include "reports/samples.h"
#include "reports/uniqueness.h"

namespace detcheck {

/// Fills in how many samples, outputs, traces and texts there are, and what they are told apart by.
void CountSamples(const std::vector<Sample>& samples, const Likeness& likeness,
                  RequestJudgement* judgement);

/// Judges the samples of one request under the plan's criterion. `texts`: what was found of their
/// texts. `findings` are the cells of the mode that prove nothing; those in which the request is a
/// subject bear on it.
RequestJudgement JudgeRequest(const Plan& plan, Mode mode, const RequestSamples& samples,
                              const TextFindings& texts, const std::vector<CellFinding>& findings);

}  // namespace detcheck
