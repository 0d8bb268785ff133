#include "engine/embedded/sequence.h"

namespace detcheck {

void AppendToStep(const Sequence& seq, int num_tokens, StepBatch* batch) {
  batch->sequences.push_back({.first_row = batch->num_rows(),
                              .num_tokens = num_tokens,
                              .start_pos = seq.num_computed,
                              .slots = seq.slots.data()});
  for (int pos = seq.num_computed; pos < seq.num_computed + num_tokens; ++pos) {
    batch->ids.push_back(seq.ids[pos]);
    batch->positions.push_back(pos);
    batch->slots.push_back(seq.slots[pos]);
  }
}

}  // namespace detcheck
