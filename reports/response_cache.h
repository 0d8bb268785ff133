#pragma once

#include "reports/judgement.h"

namespace detcheck {

/// A target that keeps whole answers would repeat itself whatever its kernels do. The mark of it:
/// repeats come out far faster than answers to unseen prompts. Compared is the time per output
/// token after the first, so that neither prefill nor queueing counts, at equal prompt length,
/// cached tokens and batch size. Unseen is what a request answers first in the transcript; the
/// first batch of each launch warms up and is left out, and so are answers of fewer than 8 tokens,
/// which are too short to be timed.
///
/// A request is flagged where each of three or more repeats took less than a fifth of the least
/// unseen time. A salted copy (Arm::kSalted) is unseen, too, and runs when the target is warm:
/// where the request is flagged against one, that is confirmed. Flagged requests become
/// inconclusive, with the reason. Where no request can be told, because the target gives no times
/// or there is nothing to compare with, a note says so.
void CheckResponseCache(const Plan& plan, const Transcript& transcript, ModeJudgement* judgement);

}  // namespace detcheck
