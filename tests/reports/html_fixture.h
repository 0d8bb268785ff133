#pragma once

#include "reports/report.h"

namespace detcheck {

/// A run whose samples show everything that the picture can: tokens that differ, logprobs that
/// differ alone, samples without logprobs, an answer that was cut short; with text and the engine's
/// own record of its steps.
Report DivergingReport();

/// Text of a target, of files and of a caller that tries to be markup or script; each would set
/// `window.executed`.
Report HostileReport();

/// `num_samples` samples of 128 tokens, of three distinct outputs.
Report LargeReport(int num_samples);

/// `num_outputs` distinct outputs of 500 tokens with five candidates at each position.
Report ManyOutputsReport(int num_outputs);

}  // namespace detcheck
