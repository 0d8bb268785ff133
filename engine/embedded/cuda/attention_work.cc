#include "engine/embedded/cuda/attention_work.h"

#include <algorithm>
#include <string>

#include "engine/base/error.h"

namespace detcheck::cuda {
namespace {

/// Most bytes of partial results, as long as each sequence can have one unit.
constexpr int64_t kMaxPartialBytes = int64_t{256} << 20;

/// Bounds of the split length in default mode.
constexpr int kMinDecodeSplit = kKeyBlock;
constexpr int kMaxDecodeSplit = 512;

constexpr int64_t CeilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

int NumKeys(const SequenceSlice& sequence) {
  return sequence.start_pos + sequence.num_tokens;
}

bool IsDecoded(const SequenceSlice& sequence, int group) {
  return int64_t{sequence.num_tokens} * group <= kWarpRows;
}

[[noreturn]] void ThrowTooSmall(const char* what, int64_t capacity) {
  throw Error(ErrorCode::kInternal,
              "attention: the step has more than " + std::to_string(capacity) + " " + what);
}

template <typename T>
void Append(const T& element, const char* what, int64_t* count, StepArray<T>* array) {
  if (*count >= array->capacity) ThrowTooSmall(what, array->capacity);
  array->host[(*count)++] = element;
}

/// Fills units and combine rows, one sequence after another.
class DecodeCutter {
 public:
  DecodeCutter(int group, int split, int64_t max_units_per_sequence, FlashWork* work)
      : group_(group), split_(split), max_units_(max_units_per_sequence), work_(work) {}

  void Add(const SequenceSlice& sequence, int64_t slot_offset) {
    const int num_keys = NumKeys(sequence);
    const int64_t num_splits = CeilDiv(num_keys, split_);
    // Splits beyond the first one that the first unit takes.
    const int64_t surplus = std::max<int64_t>(0, num_splits - max_units_);
    DecodeUnit unit;
    unit.first_row = sequence.first_row;
    unit.num_flat_rows = sequence.num_tokens * group_;
    unit.start_pos = sequence.start_pos;
    unit.slot_offset = slot_offset;
    const int64_t first_partial = num_partials_;
    for (int64_t begin = 0; begin < num_keys; begin = unit.key_end) {
      const int64_t length = begin == 0 ? (surplus + 1) * split_ : split_;
      unit.key_begin = static_cast<int32_t>(begin);
      unit.key_end = static_cast<int32_t>(std::min<int64_t>(num_keys, begin + length));
      unit.first_partial = static_cast<int32_t>(num_partials_);
      num_partials_ += unit.num_flat_rows;
      Append(unit, "units of attention", &num_units_, &work_->units);
    }
    for (int token = 0; token < sequence.num_tokens; ++token) {
      const int64_t last_split = (sequence.start_pos + token) / split_;
      CombineRow row;
      row.row = sequence.first_row + token;
      row.first_partial = static_cast<int32_t>(first_partial + token * group_);
      row.partial_stride = unit.num_flat_rows;
      row.num_partials = static_cast<int32_t>(std::max<int64_t>(0, last_split - surplus) + 1);
      Append(row, "decoded rows", &num_rows_, &work_->combine_rows);
    }
  }

  int64_t num_units() const { return num_units_; }
  int64_t num_rows() const { return num_rows_; }
  int64_t num_partials() const { return num_partials_; }

 private:
  int group_;
  int64_t split_;
  int64_t max_units_;
  FlashWork* work_;
  int64_t num_units_ = 0;
  int64_t num_rows_ = 0;
  int64_t num_partials_ = 0;
};

void AddTiles(const SequenceSlice& sequence, int64_t slot_offset, int group, int64_t* num_tiles,
              FlashWork* work) {
  PrefillTile tile;
  tile.first_row = sequence.first_row;
  tile.num_flat_rows = sequence.num_tokens * group;
  tile.start_pos = sequence.start_pos;
  tile.slot_offset = slot_offset;
  for (int first = 0; first < tile.num_flat_rows; first += kPrefillRows) {
    const int last = std::min(first + kPrefillRows, tile.num_flat_rows) - 1;
    tile.first_flat_row = first;
    tile.num_keys = sequence.start_pos + last / group + 1;
    Append(tile, "tiles of attention", num_tiles, &work->tiles);
  }
}

}  // namespace

FlashCapacity::FlashCapacity(const AttentionShape& shape, const StepLimits& limits) {
  const int64_t group = shape.group();
  const int64_t sequences = limits.max_sequences;
  const int64_t row_bytes =
      int64_t{shape.num_kv_heads} * (shape.head_dim + 2) * static_cast<int64_t>(sizeof(float));
  const int64_t wanted = sequences * group * CeilDiv(limits.context_len, kKeyBlock);
  partial_rows = std::max(std::min(wanted, kMaxPartialBytes / row_bytes), sequences * kWarpRows);
  units = partial_rows / group;
  combine_rows = std::min<int64_t>(limits.max_rows, sequences * kWarpRows);
  tiles = CeilDiv(limits.max_rows * group, kPrefillRows) + sequences;
}

size_t FlashCapacity::arena_bytes() const {
  const auto bytes = [](int64_t count, size_t size) {
    return StepArena::Padded(static_cast<size_t>(count) * size);
  };
  return bytes(1, sizeof(FlashCounts)) + bytes(units, sizeof(DecodeUnit)) +
         bytes(combine_rows, sizeof(CombineRow)) + bytes(tiles, sizeof(PrefillTile));
}

FlashWork FlashWork::Reserve(const FlashCapacity& capacity, StepArena* arena) {
  FlashWork work;
  work.counts = arena->Reserve<FlashCounts>(1);
  work.units = arena->Reserve<DecodeUnit>(capacity.units);
  work.combine_rows = arena->Reserve<CombineRow>(capacity.combine_rows);
  work.tiles = arena->Reserve<PrefillTile>(capacity.tiles);
  return work;
}

int DecodeSplitFor(int64_t num_keys, int num_kv_heads, int num_workers) {
  const int64_t keys_each = num_keys * num_kv_heads / (int64_t{4} * num_workers);
  const int64_t split = CeilDiv(keys_each, kKeyBlock) * kKeyBlock;
  return static_cast<int>(std::clamp<int64_t>(split, kMinDecodeSplit, kMaxDecodeSplit));
}

int64_t CountDecodeKeys(const StepBatch& batch, int group) {
  int64_t num_keys = 0;
  for (const SequenceSlice& sequence : batch.sequences) {
    if (IsDecoded(sequence, group)) num_keys += NumKeys(sequence);
  }
  return num_keys;
}

void CutStep(const StepBatch& batch, const int64_t* slot_offsets, int group, int decode_split,
             const FlashCapacity& capacity, FlashWork* work) {
  int64_t rows_per_unit = 0;  // Partial rows if each decoded sequence were one unit.
  for (const SequenceSlice& sequence : batch.sequences) {
    if (IsDecoded(sequence, group)) rows_per_unit += int64_t{sequence.num_tokens} * group;
  }
  const int64_t max_units = rows_per_unit == 0 ? 1 : capacity.partial_rows / rows_per_unit;
  DecodeCutter decode(group, decode_split, max_units, work);
  int64_t num_tiles = 0;
  for (size_t i = 0; i < batch.sequences.size(); ++i) {
    const SequenceSlice& sequence = batch.sequences[i];
    if (IsDecoded(sequence, group)) {
      decode.Add(sequence, slot_offsets[i]);
    } else {
      AddTiles(sequence, slot_offsets[i], group, &num_tiles, work);
    }
  }
  if (decode.num_partials() > capacity.partial_rows) {
    ThrowTooSmall("partial rows of attention", capacity.partial_rows);
  }
  std::stable_sort(
      work->tiles.host, work->tiles.host + num_tiles,
      [](const PrefillTile& a, const PrefillTile& b) { return a.num_keys > b.num_keys; });
  *work->counts.host = {static_cast<int32_t>(decode.num_units()),
                        static_cast<int32_t>(decode.num_rows()), decode_split, 0};
  work->num_tiles = static_cast<int>(num_tiles);
}

}  // namespace detcheck::cuda
