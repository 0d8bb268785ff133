#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/report.h"

namespace detcheck {

/// One thing that was judged, as a CI system lists it.
struct GateCase {
  std::string name;  ///< Unique in its suite.
  Verdict verdict = Verdict::kPass;
  bool decides = true;  ///< Of a mode whose verdict the whole hears (ModeJudgement::decides).
  std::string kind;     ///< The cause of a failure in one word, else the verdict.
  std::string message;  ///< Half a line; empty where it passed.
  std::string detail;   ///< The lines of the console view; may be empty.
  double duration_s = 0.0;
};

struct GateSuite {
  std::string name;  ///< Unique among the suites that are rendered together: "detcheck.single".
  std::string started_utc;
  std::vector<std::pair<std::string, std::string>> properties;
  std::vector<GateCase> cases;
};

/// One suite for each mode, with a case for each fixture, one for each neighbour that did not pass
/// and is not merely seen too rarely, and one for the mode itself ("(whole mode)"); then "run" with
/// what bears on all of it, and the scope as properties. The cases that decide have together the
/// report's verdict. `label` comes into the suites'
/// names and tells reports apart that are rendered together; empty: "detcheck".
std::vector<GateSuite> SuitesOf(const Report& report, const std::string& label);

/// "fail", "fail (does not decide)".
std::string VerdictInWords(const GateCase& one);

/// Begins the names of the properties of a suite that tell the scope.
inline constexpr std::string_view kScopeProperty = "detcheck.scope.";

}  // namespace detcheck
