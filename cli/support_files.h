#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "engine/base/support.h"
#include "fixtures/plan.h"
#include "reports/support.h"

namespace detcheck {

/// The tables of all engines: detcheck's own first, then the shipped files by name. Throws
/// Error(kInput) for a file that is wrong.
std::vector<SupportTable> AllSupportTables();

/// Looks up what is documented of the subject, as the plan uses it.
SupportFinding SupportOf(const Manifest& subject, const Plan& plan);

}  // namespace detcheck
