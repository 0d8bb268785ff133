#pragma once

#include <optional>

#include "reports/judgement.h"
#include "reports/samples.h"

namespace detcheck {

/// How `actual` differs from `expected`: positions, tokens, gap, logprob differences. The cause is
/// left to reports/attribution.h, the number of samples to the caller.
Divergence Compare(const Sample& expected, const Sample& actual, int prompt_len);

/// The logprob that the answer tells of token `id` at output position `position`: of the chosen
/// token or of a candidate.
std::optional<double> LogprobOf(const Completion& answer, int position, TokenId id);

/// Whether two logprobs are the same number, bit for bit.
bool SameBits(double a, double b);

}  // namespace detcheck
