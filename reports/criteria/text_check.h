#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "fixtures/criterion.h"
#include "fixtures/plan.h"
#include "reports/text_findings.h"
#include "reports/transcript.h"

namespace detcheck {

/// Looks at one text at a time.
class TextCheck {
 public:
  virtual ~TextCheck() = default;
  virtual TextFinding Check(const std::string& text) = 0;
};

/// The check that `criterion` names, ready: null where it is not one of single texts
/// (fixtures/criterion.h). Throws Error(kInput) or Error(kUsage), one line, where it cannot be
/// made: a pattern or a schema that is wrong, a command that is not there, a build without the
/// library. `stop`, which must outlive it: no further command is begun once it is set.
std::unique_ptr<TextCheck> MakeTextCheck(const Criterion& criterion, const std::atomic<bool>& stop);

/// Checks each distinct text of the judged, whole answers of `transcript` once. Empty where `check`
/// is null.
TextFindings CheckTexts(const Plan& plan, const Transcript& transcript, TextCheck* check);

}  // namespace detcheck
