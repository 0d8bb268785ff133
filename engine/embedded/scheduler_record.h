#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "engine/base/request.h"

namespace detcheck {

/// The engine's own record: what follows from each engine step for each item's witness.
class SchedulerRecord {
 public:
  void Begin(int item);
  /// The item's witness, which is kept no longer.
  Witness End(int item);

  /// An engine step, later than those before, has computed `rows`.
  void AddStep(const std::vector<EngineStepSpan::Row>& rows);

  /// The witness of `item` so far. Cached tokens, preemptions and chunk ends are written by the
  /// scheduler, the rest here.
  Witness& witness(int item) { return items_.at(item).witness; }

 private:
  struct Item {
    Witness witness;
    bool has_decoded = false;
    int prefill_since_decode = 0;  ///< Neighbours' prefill tokens in steps since its last decode.
  };

  static void Count(const EngineStepSpan::Row& row, int total_prefill, Item* item);

  std::map<int, Item> items_;
};

/// Engine steps as spans.
class StepSpans {
 public:
  /// Engine step `step`, later than those before, has computed `rows`.
  void Add(int64_t step, const std::vector<EngineStepSpan::Row>& rows);

  const std::vector<EngineStepSpan>& spans() const { return spans_; }

 private:
  std::vector<EngineStepSpan> spans_;
};

}  // namespace detcheck
