#pragma once

#include <cstdint>

#include "engine/embedded/cuda/step_arena.h"

namespace detcheck::cuda {

/// The step as the kernels read it. Rows are padded to `padded_rows` in captured decode steps: a
/// padding row has id 0, position 0 and a slot that no sequence owns; it belongs to no sequence.
struct StepArrays {
  StepArray<int32_t> ids;           ///< [T]
  StepArray<int32_t> positions;     ///< [T]
  StepArray<int32_t> slots;         ///< [T] KV slot that each row writes.
  StepArray<int32_t> logit_rows;    ///< [R]
  StepArray<int64_t> slot_offsets;  ///< [sequences] Of each sequence's first slot in slot_table.
  /// KV slots of every position of every sequence, one sequence after another.
  StepArray<int32_t> slot_table;
};

/// Most of everything that one step can have.
struct StepLimits {
  int max_rows = 0;       ///< Tokens of a step.
  int max_sequences = 0;  ///< Sequences of a step.
  int context_len = 0;    ///< Tokens of a sequence.
};

}  // namespace detcheck::cuda
