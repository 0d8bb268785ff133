#pragma once

#include <memory>
#include <string>

#include "cli/options.h"
#include "engine/backend.h"
#include "fixtures/plan.h"

namespace detcheck {

/// Starts what is to be tested; says on stderr which engine "auto" took.
std::unique_ptr<Backend> StartTarget(const Options& options);

/// Throws Error(kInput) where the target cannot take the plan. `file` names it.
void RequireFits(const Plan& plan, const std::string& file, const TargetFacts& facts);

}  // namespace detcheck
