#pragma once

// Internal to the HTML page.

#include "reports/html_text.h"
#include "reports/report.h"

namespace detcheck {

/// What the verdict speaks of: what was varied and how often, what was held, what was not tested,
/// where it holds, what it bounds.
void AppendScope(const Report& report, HtmlText* html);

/// Attempts that do not count, with the reason of each; nothing where there were none.
void AppendVoided(const Report& report, HtmlText* html);

/// Subject and harness: every field with its source.
void AppendManifests(const Report& report, HtmlText* html);

/// What to type to see it again.
void AppendCommands(const Report& report, HtmlText* html);

}  // namespace detcheck
