#pragma once

#include <optional>

#include "reports/judgement.h"

namespace detcheck {

/// Equal outputs of two seeds are a failure where such an output has a probability below this.
inline constexpr double kTellingProbability = 1e-6;

/// An upper bound, as a natural logarithm, of the probability that a draw of its own gives the
/// answer's tokens: the product over its tokens of a bound on each one's probability under the
/// distribution it was drawn from. Absent where the answer has no logprobs.
///
/// That distribution is not told: it is the told one, p, raised to 1/T, filtered, and normalised
/// anew. Of the sum that normalises it only a part is seen, the told candidates; a part makes the
/// bound larger, never smaller. Where filters are on, no more than the candidates at least as
/// probable as the chosen token are counted: a filter that kept that one kept them. Whether a
/// target tells logprobs before or after it applies the temperature is not known either, so of
/// both readings (exponent 1/T and 1) the larger bound is taken, token by token. Without candidates
/// the bound is 1 where nothing better follows, and the answer shows nothing.
std::optional<double> LogProbabilityBound(const Sampling& sampling, const Completion& answer);

/// Compares the references of the mode's requests that are equal but for the seed, pair by pair.
/// Equal outputs whose bound is below kTellingProbability: the later request fails, cause
/// sampling. Equal outputs that may be chance say nothing; a group without a pair that differs is
/// inconclusive, and so is a pair of equal outputs without logprobs. Requests that failed already
/// are left out: they have no one answer.
void CompareSeeds(const Plan& plan, const Transcript& transcript, ModeJudgement* judgement);

}  // namespace detcheck
