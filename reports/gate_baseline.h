#pragma once

#include <string>

#include "reports/gate_cases.h"

namespace detcheck {

/// Holds a report's references against those of a golden report: one suite, with a case for each
/// subject. Rows are matched by the request (prompt, sampling, limits) and by what is tested:
/// model, weights, tokenizer, dtype, quantisation, parallelism and hardware (none for the CPU
/// engine in deterministic mode, whose bits are the same on every machine). Fails where tokens or
/// finish reason differ, or, with the criterion `bitwise`, a logprob that both tell; inconclusive
/// where there is no row to hold against. Other fields that changed are named as candidates for the
/// cause.
GateSuite CompareWithBaseline(const Report& report, const Report& baseline,
                              const std::string& label);

}  // namespace detcheck
