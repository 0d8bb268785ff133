#pragma once

#include <string>
#include <vector>

#include "reports/report.h"

namespace detcheck {

struct FieldChange {
  std::string name;
  std::string before;  ///< Empty: was not there, or not known.
  std::string after;
};

/// What changed of one request in one mode.
struct RowChange {
  std::string mode;  ///< As NameOfMode calls it.
  std::string id;
  std::vector<std::string> lines;  ///< Never empty.
};

/// What changed from report A to report B.
struct ReportDiff {
  /// Changes of what answers and verdicts depend on: fields of the manifests, the protocol, the
  /// criterion, the required scope.
  std::vector<FieldChange> can_explain;
  std::vector<FieldChange> informational;  ///< Changes of what they should not depend on.
  std::vector<std::string> only_in_a;      ///< Subjects whose prompt the other report has not.
  std::vector<std::string> only_in_b;
  std::vector<std::string> in_both;
  int num_compared = 0;      ///< Requests, once for each mode.
  int num_not_compared = 0;  ///< Likewise: those whose sampling or limits changed.
  std::vector<RowChange> rows;
  FieldChange verdict;  ///< Of the whole.

  bool SamePrompts() const { return only_in_a.empty() && only_in_b.empty(); }
  /// Whether answers, verdicts or prompts differ; manifests alone do not count.
  bool Differ() const;
};

/// Requests are matched by mode, prompt, sampling and limits; those that are left by mode and
/// prompt alone, of equal names first: their sampling or limits changed. Other answers are to be
/// expected then, and are compared only where `compare_changed_requests`.
ReportDiff DiffReports(const Report& a, const Report& b, bool compare_changed_requests = false);

/// For a person; ends in a newline.
std::string RenderDiff(const ReportDiff& diff);

/// Where the prompts differ: that in one line, with what could be compared all the same.
std::string DifferentPromptsInWords(const ReportDiff& diff);

}  // namespace detcheck
