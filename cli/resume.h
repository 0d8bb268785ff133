#pragma once

#include <string>
#include <vector>

#include "fixtures/plan.h"
#include "reports/transcript.h"

namespace detcheck {

/// What is left of a plan.
struct Resumption {
  Transcript transcript;   ///< Records of the earlier run; those to be run again are voided.
  std::vector<int> order;  ///< Steps to run: control samples to repeat, then the rest of the plan.
};

/// Goes on with `earlier`, which was read from `path`: from the last step that begins cold, after
/// the control samples, once more, of the requests that the rest of the mode judges. Throws
/// Error(kInput) where it is of another plan or another subject.
Resumption ResumeFrom(Transcript earlier, const std::string& path, const Plan& plan,
                      const std::string& plan_digest, const std::string& identity);

}  // namespace detcheck
