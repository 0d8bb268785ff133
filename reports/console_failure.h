#pragma once

// Internal to the console view.

#include <string>

#include "reports/report.h"

namespace detcheck {

/// The lines below a request that failed, each indented by four spaces: requirement, expected and
/// actual at the first divergence, where each ran, gap, cause, condition, next command.
std::string RenderFailure(const Report& report, const RequestJudgement& request);

/// The failure in half a line: "first divergence at output position 17 (numeric; in all batches >=
/// 9, in none below)".
std::string SummaryOfFailure(const RequestJudgement& request);

}  // namespace detcheck
