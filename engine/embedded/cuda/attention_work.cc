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

/// Fills units: Add for each sequence, then AddOthers once.
class DecodeCutter {
 public:
  DecodeCutter(int group, const DecodeCut& cut, int64_t max_units_per_sequence, FlashWork* work)
      : group_(group), cut_(cut), max_units_(max_units_per_sequence), work_(work) {}

  /// The first unit of a sequence.
  void Add(const SequenceSlice& sequence, int64_t slot_offset) {
    const int num_keys = NumKeys(sequence);
    const int64_t num_splits = CeilDiv(num_keys, cut_.split);
    const int64_t first_splits = std::max<int64_t>(cut_.first_splits, num_splits - max_units_ + 1);
    DecodeUnit unit;
    unit.first_row = sequence.first_row;
    unit.num_flat_rows = sequence.num_tokens * group_;
    unit.start_pos = sequence.start_pos;
    unit.sequence = static_cast<int32_t>(num_units_);
    unit.first_end = static_cast<int32_t>(std::min<int64_t>(num_keys, first_splits * cut_.split));
    unit.key_end = unit.first_end;
    unit.num_units = unit.NumUnitsAt(num_keys - 1, cut_.split);
    unit.first_partial = static_cast<int32_t>(num_partials_);
    unit.slot_offset = slot_offset;
    num_partials_ = unit.PartialRow(unit.num_units);
    num_rows_ += sequence.num_tokens;
    Append(unit, "units of attention", &num_units_, &work_->units);
  }

  /// The units after the first ones, of all sequences.
  void AddOthers() {
    const int64_t num_sequences = num_units_;
    for (int64_t s = 0; s < num_sequences; ++s) {
      DecodeUnit unit = work_->units.host[s];
      const int num_keys = unit.start_pos + unit.num_flat_rows / group_;
      for (unit.index = 1; unit.index < unit.num_units; ++unit.index) {
        unit.key_begin = unit.key_end;
        unit.key_end = std::min(num_keys, unit.key_begin + cut_.split);
        Append(unit, "units of attention", &num_units_, &work_->units);
      }
    }
  }

  FlashCounts counts() const {
    return {static_cast<int32_t>(num_units_), static_cast<int32_t>(num_rows_), cut_.split, 0};
  }
  int64_t num_partials() const { return num_partials_; }

 private:
  int group_;
  DecodeCut cut_;
  int64_t max_units_;
  FlashWork* work_;
  int64_t num_units_ = 0;
  int64_t num_rows_ = 0;
  int64_t num_partials_ = 0;
};

/// Splits of a first unit. Blocks of threads take first units before all others, `rounds` each at
/// most, and should then have a quarter of their work left, so that the others even them out.
int FirstSplits(const DecodeLoad& load, int split, int num_kv_heads, int num_workers) {
  const int64_t rounds = CeilDiv(load.num_sequences * num_kv_heads, num_workers);
  if (rounds == 0) return 1;
  const int64_t splits =
      3 * load.num_keys * num_kv_heads / (int64_t{4} * split * num_workers * rounds);
  return static_cast<int>(std::max<int64_t>(1, splits));
}

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
  sequences = limits.max_sequences;
  const int64_t row_bytes =
      int64_t{shape.num_kv_heads} * (shape.head_dim + 2) * static_cast<int64_t>(sizeof(float));
  const int64_t wanted = sequences * group * CeilDiv(limits.context_len, kKeyBlock);
  partial_rows = std::max(std::min(wanted, kMaxPartialBytes / row_bytes), sequences * kWarpRows);
  units = partial_rows / group;
  tiles = CeilDiv(limits.max_rows * group, kPrefillRows) + sequences;
}

size_t FlashCapacity::arena_bytes() const {
  const auto bytes = [](int64_t count, size_t size) {
    return StepArena::Padded(static_cast<size_t>(count) * size);
  };
  return bytes(1, sizeof(FlashCounts)) + bytes(units, sizeof(DecodeUnit)) +
         bytes(tiles, sizeof(PrefillTile));
}

FlashWork FlashWork::Reserve(const FlashCapacity& capacity, StepArena* arena) {
  FlashWork work;
  work.counts = arena->Reserve<FlashCounts>(1);
  work.units = arena->Reserve<DecodeUnit>(capacity.units);
  work.tiles = arena->Reserve<PrefillTile>(capacity.tiles);
  return work;
}

DecodeLoad::DecodeLoad(const StepBatch& batch, int group) {
  for (const SequenceSlice& sequence : batch.sequences) {
    if (!IsDecoded(sequence, group)) continue;
    ++num_sequences;
    num_keys += NumKeys(sequence);
    flat_rows += int64_t{sequence.num_tokens} * group;
  }
}

DecodeCut DecodeCut::Deterministic(const DecodeLoad& load, int num_kv_heads, int num_workers) {
  return {kKeySplit, FirstSplits(load, kKeySplit, num_kv_heads, num_workers)};
}

DecodeCut DecodeCut::ByOccupancy(const DecodeLoad& load, int num_kv_heads, int num_workers) {
  const int64_t keys_each = CeilDiv(load.num_keys * num_kv_heads, num_workers);
  const int split = static_cast<int>(std::clamp<int64_t>(CeilDiv(keys_each, kKeyBlock) * kKeyBlock,
                                                         kMinDecodeSplit, kMaxDecodeSplit));
  return {split, FirstSplits(load, split, num_kv_heads, num_workers)};
}

void CutStep(const StepBatch& batch, const int64_t* slot_offsets, int group, const DecodeCut& cut,
             const FlashCapacity& capacity, FlashWork* work) {
  const DecodeLoad load(batch, group);
  if (load.num_sequences > capacity.sequences) ThrowTooSmall("sequences", capacity.sequences);
  const int64_t max_units = load.flat_rows == 0 ? 1 : capacity.partial_rows / load.flat_rows;
  DecodeCutter decode(group, cut, max_units, work);
  int64_t num_tiles = 0;
  for (size_t i = 0; i < batch.sequences.size(); ++i) {
    const SequenceSlice& sequence = batch.sequences[i];
    if (IsDecoded(sequence, group)) {
      decode.Add(sequence, slot_offsets[i]);
    } else {
      AddTiles(sequence, slot_offsets[i], group, &num_tiles, work);
    }
  }
  decode.AddOthers();
  if (decode.num_partials() > capacity.partial_rows) {
    ThrowTooSmall("partial rows of attention", capacity.partial_rows);
  }
  std::stable_sort(
      work->tiles.host, work->tiles.host + num_tiles,
      [](const PrefillTile& a, const PrefillTile& b) { return a.num_keys > b.num_keys; });
  *work->counts.host = decode.counts();
  work->num_tiles = static_cast<int>(num_tiles);
}

}  // namespace detcheck::cuda
