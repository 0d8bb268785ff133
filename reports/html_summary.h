#pragma once

// Internal to the HTML page.

#include <string>

#include "reports/html_text.h"
#include "reports/report.h"

namespace detcheck {

/// "FAIL: detcheck-cpu 0.1.0, synthetic:tiny": the page's title.
std::string TitleOf(const Report& report);

/// The top of the page: verdict, why in one sentence, what was tested, counts, one row per mode.
void AppendSummary(const Report& report, HtmlText* html);

}  // namespace detcheck
