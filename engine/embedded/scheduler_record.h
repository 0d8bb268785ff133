#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/request.h"

namespace detcheck {

/// The engine's own record of a batch: what each engine step computed, and what follows from that
/// for each item's witness.
class SchedulerRecord {
 public:
  explicit SchedulerRecord(int num_items);

  /// Engine step `step`, later than those before, has computed `rows`.
  void AddStep(int64_t step, const std::vector<EngineStepSpan::Row>& rows);

  /// The witness of `item` so far. Cached tokens, preemptions and chunk ends are written by the
  /// scheduler, the rest here.
  Witness& witness(int item) { return items_[item].witness; }

  const std::vector<EngineStepSpan>& spans() const { return spans_; }

 private:
  struct Item {
    Witness witness;
    bool has_decoded = false;
    int prefill_since_decode = 0;  ///< Neighbours' prefill tokens in steps since its last decode.
  };

  static void Count(const EngineStepSpan::Row& row, int total_prefill, Item* item);

  std::vector<Item> items_;
  std::vector<EngineStepSpan> spans_;
};

}  // namespace detcheck
