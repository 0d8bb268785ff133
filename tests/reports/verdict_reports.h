#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/report.h"

namespace detcheck {

/// Reports by name: one of each verdict ("pass", "fail", "inconclusive", "unsupported", "error"),
/// and some of several at once ("fail+error", "error+inconclusive", "fail+inconclusive",
/// "pass+unsupported", "all" (the same, of a run that named no mode), "hostile", "nothing").
std::vector<std::pair<std::string, Report>> VerdictReports();

/// The one of that name.
Report VerdictReport(const std::string& name);

/// Text that would become markup, a second line, a control sequence or a broken file where a
/// renderer lets it.
std::string HostileText();

}  // namespace detcheck
