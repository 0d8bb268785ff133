#pragma once

#include <optional>
#include <string>

#include "fixtures/plan.h"
#include "reports/transcript.h"

namespace detcheck {

/// Whether the answer was cut off before the plan would have ended it.
bool WasCutOff(const PlannedItem& planned, const Completion& completion);

/// Why an attempt does not count, decided without looking at what was answered: a request that
/// failed, a flush that was refused, evidence that was missed. Absent: it counts.
std::optional<std::string> WhyVoid(const Step& step, const StepRecord& record);

}  // namespace detcheck
