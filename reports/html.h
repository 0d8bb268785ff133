#pragma once

#include <string>

#include "reports/report.h"

namespace detcheck {

/// The report as one HTML page that needs nothing else: no network, no other file. Verdict, facts,
/// modes, fixtures, scope and manifests are in the page itself and need no script; the script adds
/// the picture of samples × token positions and the comparison of tokens. What targets and files
/// said is text and stays text: it is escaped, kept as data, and the page's policy
/// (Content-Security-Policy) lets only its own script run.
std::string RenderHtml(const Report& report);

}  // namespace detcheck
