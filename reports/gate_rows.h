#pragma once

// Internal to the baseline comparison and to the difference of two reports.

#include <optional>
#include <string>
#include <vector>

#include "reports/report.h"
#include "reports/samples.h"

namespace detcheck {

/// What a report says of one request in one mode, named so that it is found in another report.
/// Points into the report, which must outlive it.
struct ReportRow {
  const ModeJudgement* mode = nullptr;  ///< Of which it is.
  const RequestJudgement* judged = nullptr;
  std::string id;             ///< Printable.
  std::string prompt_digest;  ///< Of the resolved prompt; empty where the report does not tell.
  std::string digest;         ///< The prompt's, the sampling and the limits; empty likewise.
  std::optional<Sample> reference;
};

/// All requests of all modes, in report order.
std::vector<ReportRow> RowsOf(const Report& report);

/// The sample at `ref`.
Sample SampleAt(const Report& report, const SampleRef& ref);

/// "tokens differ, first at output position 3 (4, not 900)"; empty where the answers are equal.
/// `with_logprobs`: also where only logprobs differ.
std::string DifferenceInWords(const Report& expected_report, const Sample& expected,
                              const Sample& actual, bool with_logprobs);

/// The value of a field; empty where it is not known.
std::string ValueOf(const Manifest& manifest, const std::string& name);

}  // namespace detcheck
