#pragma once

#include <string>

#include "engine/base/request.h"
#include "fixtures/plan.h"

namespace detcheck {

/// Throws Error(kInput) where the target cannot take the plan. `file` names it.
void RequireFits(const Plan& plan, const std::string& file, const TargetFacts& facts);

}  // namespace detcheck
