#pragma once

#include "reports/judgement.h"

namespace detcheck {

/// A target that keeps whole answers would repeat itself whatever its kernels do. The mark of it:
/// repeats come out far faster than the request's first answer. The time per output token after the
/// first of repeats is held against that of unseen requests (the first samples in the transcript)
/// of equal prompt length, cached tokens and batch size; the first batch of each launch warms up
/// and is left out. A request is suspect where each of three or more repeats took less than a
/// fifth of the least unseen time. Where most of the mode's requests that can be told are suspect,
/// those become inconclusive. Answers without times say nothing.
void CheckResponseCache(const Plan& plan, const Transcript& transcript, ModeJudgement* judgement);

}  // namespace detcheck
