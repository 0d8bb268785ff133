#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fixtures/plan.h"
#include "reports/judgement.h"
#include "reports/transcript.h"

namespace detcheck {

/// What of the step's evidence the attempt does not show: "missed witness: formed size 7 of 8
/// (item 3)", "missed witness: flush refused (busy)". Absent: all was shown. Looks at witnesses,
/// never at what was answered; items that ended in an error show nothing and are passed over.
std::optional<std::string> MissedEvidence(const Step& step, const StepRecord& record);

/// Whether the attempt is whole: not voided, every item answered to its planned end, and all
/// evidence shown.
bool Counts(const Step& step, const StepRecord& record);

/// A step that proves nothing, and why.
struct CellFinding {
  int step = 0;
  Verdict verdict = Verdict::kInconclusive;  ///< Or kError.
  std::string reason;    ///< "step 12 'batch of 33' never formed: missed witness: …".
  bool not_run = false;  ///< No attempt was made.
};

/// Every step of `mode` without an attempt that counts, in plan order.
std::vector<CellFinding> CheckCells(const Plan& plan, const Transcript& transcript, Mode mode);

}  // namespace detcheck
