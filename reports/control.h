#pragma once

#include <vector>

#include "fixtures/criterion.h"
#include "reports/uniqueness.h"

namespace detcheck {

/// What the solo samples of one request say before anything is varied.
struct ControlArm {
  std::vector<int> cold;  ///< Indices into the samples: solo, cold (or as cold as the target gets).
  std::vector<int> warm;
  int reference = -1;           ///< The sample that the others are held against; -1: there is none.
  bool not_repeatable = false;  ///< Cold samples disagree, not by the first one alone.
  bool by_launch = false;       ///< not_repeatable, but they agree within each start of the target.
  bool first_run_only =
      false;                  ///< The first cold sample differs from two or more others, which
                              ///< agree, and the start of the target is not what tells them apart.
  bool warm_differs = false;  ///< Cold samples agree, warm samples agree, cold != warm.
};

/// Reads the control arm under `criterion`. Attempts that do not count say nothing of the control
/// (a "cold" sample that hit the cache is not cold). The reference is the first cold sample; the
/// second, where the first differs from the steady state or where the target cannot run cold;
/// without a control arm the first whole sample.
ControlArm ReadControlArm(const std::vector<Sample>& samples, const Likeness& likeness,
                          CriterionKind criterion);

}  // namespace detcheck
