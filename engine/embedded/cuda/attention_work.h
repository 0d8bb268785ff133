#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/embedded/cuda/attention.h"
#include "engine/embedded/cuda/step_arrays.h"
#include "engine/embedded/ops.h"

/// How the `flash` backend cuts a step into work. Host only. A *flattened row* of a KV head is one
/// query of its group: flattened row i of a sequence is head i % group of its token i / group.
namespace detcheck::cuda {

/// B: keys that one softmax update takes.
inline constexpr int kKeyBlock = 64;
/// S: keys after which a fresh softmax starts, in deterministic mode. A multiple of B.
inline constexpr int kKeySplit = 256;
/// Flattened rows of one warp; sequences of at most so many are decoded, the others prefilled.
inline constexpr int kWarpRows = 16;
/// Flattened rows of one block of threads of the prefill kernel.
inline constexpr int kPrefillRows = 128;

/// Keys [key_begin, key_end) of one sequence, for each KV head: what a warp of the decode kernel
/// does at once. key_begin is a multiple of the split length, key_end is one or the sequence's end.
struct alignas(16) DecodeUnit {
  int32_t first_row = 0;      ///< Of the sequence in the step.
  int32_t num_flat_rows = 0;  ///< Of the sequence; at most kWarpRows.
  int32_t start_pos = 0;      ///< Position of first_row.
  int32_t key_begin = 0;
  int32_t key_end = 0;
  int32_t first_partial = 0;  ///< Partial row of flattened row 0.
  int64_t slot_offset = 0;    ///< Of position 0 in the slot table.
};

/// One decoded row of the step and its partial results, left to right.
struct alignas(16) CombineRow {
  int32_t row = 0;             ///< Of the step.
  int32_t first_partial = 0;   ///< Of its first head in the first unit; heads follow each other.
  int32_t partial_stride = 0;  ///< From one unit's partial row to the next one's.
  int32_t num_partials = 0;    ///< Units that begin at or before the row's position.
};

/// Up to kPrefillRows flattened rows of one sequence, for each KV head.
struct alignas(16) PrefillTile {
  int32_t first_row = 0;       ///< Of the sequence in the step.
  int32_t num_flat_rows = 0;   ///< Of the sequence.
  int32_t start_pos = 0;       ///< Position of first_row.
  int32_t first_flat_row = 0;  ///< Of the tile in the sequence.
  int32_t num_keys = 0;        ///< Up to the position of the tile's last row.
  int32_t unused = 0;
  int64_t slot_offset = 0;  ///< Of position 0 in the slot table.
};

/// What the decode and combine kernels read from device memory, so that their launches need not
/// change from step to step.
struct alignas(16) FlashCounts {
  int32_t num_units = 0;
  int32_t num_combine_rows = 0;
  int32_t decode_split = 0;  ///< Split length of the units.
  int32_t unused = 0;
};

/// Most of everything that a step's work can have.
struct FlashCapacity {
  FlashCapacity(const AttentionShape& shape, const StepLimits& limits);

  int64_t units = 0;
  int64_t combine_rows = 0;
  int64_t tiles = 0;
  /// Partial results for each KV head. Bounded: see CutStep.
  int64_t partial_rows = 0;

  size_t arena_bytes() const;
};

/// The work of a step: arrays of the arena.
struct FlashWork {
  StepArray<FlashCounts> counts;  ///< [1]
  StepArray<DecodeUnit> units;
  StepArray<CombineRow> combine_rows;
  StepArray<PrefillTile> tiles;
  int num_tiles = 0;

  static FlashWork Reserve(const FlashCapacity& capacity, StepArena* arena);
};

/// Split length of the decode kernel in default mode: about four units of work for each of
/// `num_workers` warps, where there are `num_keys` keys in all sequences and `num_kv_heads` heads.
int DecodeSplitFor(int64_t num_keys, int num_kv_heads, int num_workers);

/// Keys of all sequences of `batch` that are decoded.
int64_t CountDecodeKeys(const StepBatch& batch, int group);

/// Fills the host arrays of `work`: sequences of at most kWarpRows flattened rows become decode
/// units of one split of `decode_split` keys each, the others become prefill tiles, longest first.
/// Where the batch needs more partial rows than `capacity` has, the first unit of each sequence
/// takes several splits and merges them itself, which gives the same bits. `slot_offsets`: of each
/// sequence.
void CutStep(const StepBatch& batch, const int64_t* slot_offsets, int group, int decode_split,
             const FlashCapacity& capacity, FlashWork* work);

}  // namespace detcheck::cuda
