#include "engine/embedded/scheduler_record.h"

#include <algorithm>
#include <utility>

namespace detcheck {

void SchedulerRecord::Begin(int item) {
  items_[item].witness.source = WitnessSource::kEngine;
}

Witness SchedulerRecord::End(int item) {
  return std::move(items_.extract(item).mapped().witness);
}

void SchedulerRecord::AddStep(const std::vector<EngineStepSpan::Row>& rows) {
  int total_prefill = 0;
  for (const auto& row : rows) total_prefill += row.decode ? 0 : row.num_tokens;
  for (auto& [number, item] : items_) {
    item.prefill_since_decode += item.has_decoded ? total_prefill : 0;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    Item& item = items_.at(rows[i].item);
    Witness& witness = item.witness;
    if (!witness.slot) witness.slot = static_cast<int>(i);
    witness.formed_size = std::max(witness.formed_size.value_or(0), static_cast<int>(rows.size()));
    Count(rows[i], total_prefill, &item);
  }
}

void SchedulerRecord::Count(const EngineStepSpan::Row& row, int total_prefill, Item* item) {
  int same_step = 0;
  int interleaved = 0;
  if (row.decode) {
    // Its own step's prefill ran beside this decode, not between two.
    if (item->has_decoded) interleaved = item->prefill_since_decode - total_prefill;
    same_step = total_prefill;
    item->has_decoded = true;
    item->prefill_since_decode = 0;
  } else if (item->has_decoded) {
    item->prefill_since_decode -= row.num_tokens;
  }
  Witness& witness = item->witness;
  witness.same_step_prefill_tokens =
      std::max(witness.same_step_prefill_tokens.value_or(0), same_step);
  witness.interleaved_prefill_tokens =
      std::max(witness.interleaved_prefill_tokens.value_or(0), interleaved);
}

void StepSpans::Add(int64_t step, const std::vector<EngineStepSpan::Row>& rows) {
  const bool extends_last = !spans_.empty() && spans_.back().rows == rows &&
                            spans_.back().first_step + spans_.back().num_steps == step;
  if (extends_last) {
    ++spans_.back().num_steps;
  } else {
    spans_.push_back({.first_step = step, .num_steps = 1, .rows = rows});
  }
}

}  // namespace detcheck
