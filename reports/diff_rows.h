#pragma once

// Internal to the difference of two reports.

#include <string>
#include <vector>

#include "reports/diff.h"
#include "reports/gate_rows.h"
#include "reports/token_identity.h"

namespace detcheck {

/// What was answered to one request in one mode.
class RowAnswers {
 public:
  RowAnswers(const Report& report, const ReportRow& row, const RequestSamples* samples);

  const ReportRow& row() const { return *row_; }
  const Report& report() const { return *report_; }
  TokenIdentity identity() const { return identity_; }
  /// Digests of the distinct outputs, texts and traces, sorted.
  const std::vector<std::string>& outputs() const { return outputs_; }
  const std::vector<std::string>& texts() const { return texts_; }
  const std::vector<std::string>& traces() const { return traces_; }

 private:
  const Report* report_;
  const ReportRow* row_;
  TokenIdentity identity_ = TokenIdentity::kIds;
  std::vector<std::string> outputs_;
  std::vector<std::string> texts_;
  std::vector<std::string> traces_;
};

/// What changed of the sampling and the limits of a prompt, in one line.
std::string RequestChangeInWords(const PlannedRequest& before, const PlannedRequest& after);

/// One line for each thing that changed: outputs, logprobs, verdict.
std::vector<std::string> ChangesInWords(const RowAnswers& a, const RowAnswers& b);

}  // namespace detcheck
