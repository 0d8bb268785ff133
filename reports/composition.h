#pragma once

#include <string>
#include <vector>

#include "fixtures/plan.h"
#include "reports/transcript.h"

namespace detcheck {

/// What ran together, as a key: equal keys mean identical step compositions, after the same kind of
/// earlier traffic. From the engine's own record of its steps where there is one, else from what
/// the plan asked for.
std::string CompositionKey(const Plan& plan, const StepRecord& record);

/// Distinct compositions among the attempts of `mode` that count, preparations left out: the n of
/// the bound. Rows of one batch are not independent, and neither are repeats of one schedule.
int CountDistinctBatches(const Plan& plan, const Transcript& transcript, Mode mode);

/// Distinct formed sizes witnessed by subjects in attempts of `mode` that count, ascending.
std::vector<int> FormedSizes(const Plan& plan, const Transcript& transcript, Mode mode);

}  // namespace detcheck
