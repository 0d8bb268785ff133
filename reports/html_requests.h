#pragma once

// Internal to the HTML page.

#include "reports/html_cells.h"
#include "reports/html_text.h"
#include "reports/report.h"

namespace detcheck {

/// One section per mode with its fixtures, and its neighbours in a fold. Every request that has
/// samples gets a place for its picture, numbered as in `cells`.
void AppendRequests(const Report& report, const std::vector<HtmlCell>& cells, HtmlText* html);

}  // namespace detcheck
