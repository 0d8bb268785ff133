#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/request.h"

namespace detcheck {

/// Which items of a batch are due to be handed to the engine.
class SchedulerReleases {
 public:
  /// `items` must outlive this.
  explicit SchedulerReleases(const std::vector<BatchItem>& items);

  /// Items that have come due by engine step `step`, in item order; each is given once.
  std::vector<int> TakeDue(int64_t step);
  /// Items not given so far, in item order.
  std::vector<int> TakeRest();
  /// The first engine step at which an item is due that waits for a step; nothing: none waits.
  std::optional<int64_t> NextStep() const;

  void CountToken(int item) { ++states_[item].num_tokens; }
  void MarkEnded(int item) { states_[item].ended = true; }

 private:
  struct State {
    bool given = false;
    bool ended = false;
    int num_tokens = 0;
  };

  bool Due(const Release& release, int64_t step) const;

  const std::vector<BatchItem>& items_;
  std::vector<State> states_;  ///< By item.
};

}  // namespace detcheck
