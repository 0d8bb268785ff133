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
  std::vector<Axis> axes;  ///< As AxesOf.
  bool diverged = false;
  bool control = false;  ///< Of the solo samples that nothing was varied for.
};

/// The step's axes, with the formed size for "batch_size" and the witnessed cached tokens for
/// "cached_tokens"; beside them batch_size, same_step_prefill, cached_tokens, item, and where the
/// engine tells how the prompt was cut into chunks, prefill_chunks (how many) and chunk_boundary
/// (the prompt position of the first cut).
std::vector<Axis> AxesOf(const Sample& sample);

/// What a value is called on an axis whose values are names ("history": "a restart"); else empty.
std::string NameOnAxis(const std::string& axis, int64_t value);

/// `diverged`: whether the sample differs from the reference.
Observation Observe(const Plan& plan, const Sample& sample, bool diverged);

struct Condition {
  ConditionKind kind = ConditionKind::kNone;
  std::string words;  ///< Empty exactly where there is none.
};

/// With what the divergence goes, as the smallest statement that the observations support: "in all
/// batches >= 9, in none below"; "at item 3 only"; two of them where one is not enough; "in all
/// varied steps, never alone". Where repeats of a cell disagree: "intermittent: 3 of 48 samples".
/// None where nothing diverged or nothing simple separates the two kinds.
Condition DescribeCondition(const std::vector<Observation>& observations);

/// What can be said where nothing that was varied tells the divergences of a request: that two or
/// more different answers all leave the reference at one place, and not at the first token:
/// "tokens always part at absolute position 512 (3 different answers)". Of logprobs where no tokens
/// differ. `prompt_len`: the request's, in tokens.
Condition DescribePosition(const std::vector<Divergence>& divergences, int prompt_len);

}  // namespace detcheck
