#pragma once

#include <cstdint>

#include "reports/report.h"

namespace detcheck {

/// The size of a large run: 2,000 distinct outputs of one prompt, of 500 tokens with 5 candidates
/// each, in batches of 50. Another seed gives other outputs.
Report DistinctOutputsReport(uint64_t seed);

}  // namespace detcheck
