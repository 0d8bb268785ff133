#pragma once

#include <vector>

#include "cli/exit_status.h"
#include "cli/options.h"
#include "cli/runner.h"
#include "engine/backend.h"
#include "reports/judgement.h"

namespace detcheck {

/// How the process exits after a run. An interruption tells before all else; then a divergence over
/// an infrastructure error over what is inconclusive. `all_modes`: the modes were not asked for by
/// name; then one that is unsupported does not count, nor does p_vs_d beside others unless the
/// target claims that decode gives what prefill gives.
ExitStatus OutcomeOf(const Judgement& judgement, RunEnd end, bool all_modes,
                     const std::vector<AllowedInconclusive>& allowed,
                     bool claims_decode_as_prefill = false);

/// Whether the target says of itself that it runs in a deterministic mode.
bool ClaimsDecodeAsPrefill(const Manifest& subject);

}  // namespace detcheck
