#pragma once

#include <vector>

#include "reports/judgement.h"

namespace detcheck {

/// Holds the logprobs that prefill gives to the tokens of an answer against those that the tokens
/// had when they were decoded, bit for bit, and the prefill scores of one answer against each
/// other. Files what it finds with the request whose answer was scored, among `requests` (the
/// judgement of the samples of `mode`):
///  - repeats of a score differ: fail, not_repeatable, and no conclusion about decoding;
///  - prefill and decode differ: fail, numeric;
///  - scores or logprobs missing: inconclusive;
///  - a criterion that is not about logprobs: unsupported, there is nothing to judge by it.
void CompareScores(const Plan& plan, const Transcript& transcript, Mode mode,
                   std::vector<RequestJudgement>* requests);

}  // namespace detcheck
