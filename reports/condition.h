#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fixtures/plan.h"
#include "reports/samples.h"

namespace detcheck {

/// One sample as a point in what was varied.
struct Observation {
  std::string cell;        ///< Samples of equal cells ran under equal conditions.
  std::vector<Axis> axes;  ///< As planned, corrected by what was witnessed.
  bool diverged = false;
  bool control = false;  ///< Of the solo samples that nothing was varied for.
};

/// `diverged`: whether the sample differs from the reference. The axes are the step's, with the
/// formed size for "batch_size" and the witnessed cached tokens for "cached_tokens", and beside
/// them batch_size, same_step_prefill, cached_tokens and item.
Observation Observe(const Plan& plan, const Sample& sample, bool diverged);

/// With what the divergence goes, as the smallest statement that the observations support: "in all
/// batches >= 9, in none below"; "at item 3 only"; two of them where one is not enough; "in all
/// varied steps, never alone". Where repeats of a cell disagree: "intermittent: 3 of 48 samples".
/// Empty where nothing diverged or nothing simple separates the two kinds.
std::string DescribeCondition(const std::vector<Observation>& observations);

}  // namespace detcheck
