#pragma once

#include <cuda_runtime.h>

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

/// Keys [key_begin, key_end) of one sequence, for each KV head: what a block of threads of the
/// decode kernel does at once. key_begin is a multiple of the split length, key_end is one or the
/// sequence's end. The first unit of a sequence may have several splits, the others have one.
struct alignas(16) DecodeUnit {
  int32_t first_row = 0;      ///< Of the sequence in the step.
  int32_t num_flat_rows = 0;  ///< Of the sequence; at most kWarpRows.
  int32_t start_pos = 0;      ///< Position of first_row.
  int32_t sequence = 0;       ///< Number among the decoded sequences.
  int32_t key_begin = 0;
  int32_t key_end = 0;
  int32_t index = 0;          ///< In the sequence, left to right.
  int32_t num_units = 0;      ///< Of the sequence.
  int32_t first_end = 0;      ///< key_end of the sequence's first unit.
  int32_t first_partial = 0;  ///< Partial row of flattened row 0 in the sequence's first unit.
  int64_t slot_offset = 0;    ///< Of position 0 in the slot table.

  /// Partial row of flattened row 0 in unit `i` of the sequence.
  __host__ __device__ int64_t PartialRow(int i) const {
    return first_partial + int64_t{i} * num_flat_rows;
  }
  /// Units of the sequence that begin at or before `position`.
  __host__ __device__ int NumUnitsAt(int position, int split) const {
    return position < first_end ? 1 : 2 + (position - first_end) / split;
  }
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

/// What the decode kernel reads from device memory, so that its launch need not change from step to
/// step.
struct alignas(16) FlashCounts {
  int32_t num_units = 0;
  int32_t num_rows = 0;      ///< Decoded rows.
  int32_t decode_split = 0;  ///< Split length of the units.
  int32_t unused = 0;
};

/// Most of everything that a step's work can have.
struct FlashCapacity {
  FlashCapacity(const AttentionShape& shape, const StepLimits& limits);

  int64_t sequences = 0;
  int64_t units = 0;
  int64_t tiles = 0;
  /// Partial results for each KV head. Bounded: see CutStep.
  int64_t partial_rows = 0;

  size_t arena_bytes() const;
};

/// The work of a step: arrays of the arena.
struct FlashWork {
  StepArray<FlashCounts> counts;  ///< [1]
  StepArray<DecodeUnit> units;
  StepArray<PrefillTile> tiles;
  int num_tiles = 0;

  static FlashWork Reserve(const FlashCapacity& capacity, StepArena* arena);
};

/// What a step has to decode.
struct DecodeLoad {
  DecodeLoad(const StepBatch& batch, int group);

  int64_t num_sequences = 0;
  int64_t num_keys = 0;   ///< Of all of them.
  int64_t flat_rows = 0;  ///< Of all of them.
};

/// How decoded sequences are cut into units.
struct DecodeCut {
  int split = kKeySplit;  ///< Keys of a split: a multiple of kKeyBlock.
  int first_splits = 1;   ///< Of the first unit of a sequence, at most.

  /// Splits of kKeySplit keys.
  static DecodeCut Deterministic(const DecodeLoad& load, int num_kv_heads, int num_workers);
  /// Splits of such a length that each of `num_workers` blocks of threads has about one, or more.
  static DecodeCut ByOccupancy(const DecodeLoad& load, int num_kv_heads, int num_workers);
};

/// Fills the host arrays of `work`: sequences of at most kWarpRows flattened rows become decode
/// units, first units first; the others become prefill tiles, longest first. Where the batch needs
/// more partial rows than `capacity` has, first units are longer than `cut` says: they merge their
/// splits themselves, which gives the same bits. `slot_offsets`: of each sequence.
void CutStep(const StepBatch& batch, const int64_t* slot_offsets, int group, const DecodeCut& cut,
             const FlashCapacity& capacity, FlashWork* work);

}  // namespace detcheck::cuda
