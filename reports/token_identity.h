#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/judgement.h"
#include "reports/samples.h"

namespace detcheck {

// The one place that says what an answer is compared by.

/// kText where some answer came without token IDs and none has some.
TokenIdentity IdentityOf(const std::vector<Sample>& samples);

/// Of two answers: kText where one of them came without token IDs.
TokenIdentity IdentityOf(const Completion& a, const Completion& b);

/// The answer's tokens or text as bytes: equal for two answers exactly where those are, and the
/// beginning of each other's where they are. Absent where it has none of what is compared.
std::optional<std::string> OutputBytes(const Completion& answer, TokenIdentity identity);

/// Likewise of its logprob trace; absent where it has none.
std::optional<std::string> TraceBytes(const Completion& answer, TokenIdentity identity);

/// Whether both answers have token IDs, or both text.
bool AreComparable(const Completion& a, const Completion& b);

/// Whether one of the two came with token IDs and the other without.
bool OnlyOneHasIds(const Completion& a, const Completion& b);

}  // namespace detcheck
