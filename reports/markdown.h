#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/gate_cases.h"

namespace detcheck {

/// What a job summary of GitHub may hold.
inline constexpr size_t kMaxSummaryBytes = 1 << 20;

/// The report as a job summary: verdict, one row for each mode, the cases that did not pass with
/// their first divergence, scope. Never longer than `max_bytes` (at least 4,096); a sentence says
/// what was left out. What targets and files said cannot become markup.
std::string RenderMarkdown(const Report& report, const std::string& label,
                           size_t max_bytes = kMaxSummaryBytes);

/// The cases of suites that are no report's, under their own heading.
std::string RenderMarkdown(std::string_view heading, const std::vector<GateSuite>& suites,
                           size_t max_bytes = kMaxSummaryBytes);

}  // namespace detcheck
