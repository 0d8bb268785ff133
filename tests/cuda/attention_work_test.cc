// How a step is cut into work. Needs no device.

#include "engine/embedded/cuda/attention_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "engine/base/error.h"

namespace detcheck::cuda {
namespace {

constexpr int kGroup = 4;

// The work of a step in host memory of its own.
class CutSteps : public ::testing::Test {
 protected:
  CutSteps() : CutSteps(StepLimits{4096, 16, 4096}) {}
  explicit CutSteps(const StepLimits& limits)
      : capacity_({2 * kGroup, 2, 64}, limits),
        units_(static_cast<size_t>(capacity_.units)),
        tiles_(static_cast<size_t>(capacity_.tiles)) {
    work_.counts = {&counts_, nullptr, 1};
    work_.units = {units_.data(), nullptr, capacity_.units};
    work_.tiles = {tiles_.data(), nullptr, capacity_.tiles};
  }

  // Sequences given as (start, count); the slots of sequence i begin at 10,000 * i.
  void Cut(const std::vector<std::pair<int, int>>& sequences, const DecodeCut& cut = {}) {
    StepBatch batch;
    std::vector<int64_t> offsets;
    int first_row = 0;
    for (const auto& [start, count] : sequences) {
      offsets.push_back(static_cast<int64_t>(10000 * offsets.size()));
      batch.sequences.push_back({first_row, count, start, nullptr});
      first_row += count;
    }
    CutStep(batch, offsets.data(), kGroup, cut, capacity_, &work_);
    units_in_use_.assign(units_.begin(), units_.begin() + counts_.num_units);
  }

  // The units of each decoded sequence follow each other from key 0 to its end, all but the first
  // one of one split at most; they have partial rows of their own; a row counts those that begin at
  // or before its position.
  void ExpectUnitsCover(const std::vector<std::pair<int, int>>& sequences, int split) {
    std::vector<std::vector<DecodeUnit>> units;
    for (const DecodeUnit& unit : units_in_use_) {
      const auto sequence = static_cast<size_t>(unit.sequence);
      if (unit.index == 0) units.resize(std::max(units.size(), sequence + 1));
      ASSERT_LT(sequence, units.size()) << "a unit that is not the first, before it";
      units[sequence].push_back(unit);
    }
    int first_row = 0, next_partial = 0;
    size_t decoded = 0;
    for (const auto& [start, count] : sequences) {
      if (count * kGroup <= kWarpRows) {
        ASSERT_LT(decoded, units.size());
        ExpectSequence(units[decoded++], first_row, start, count, split, &next_partial);
      }
      first_row += count;
    }
    EXPECT_EQ(decoded, units.size());
    EXPECT_LE(next_partial, capacity_.partial_rows);
  }

  static void ExpectSequence(const std::vector<DecodeUnit>& units, int first_row, int start,
                             int count, int split, int* next_partial) {
    int key = 0;
    for (const DecodeUnit& unit : units) {
      EXPECT_EQ(unit.first_row, first_row);
      EXPECT_EQ(unit.num_flat_rows, count * kGroup);
      EXPECT_EQ(unit.num_units, static_cast<int>(units.size()));
      EXPECT_EQ(unit.first_end, units.front().key_end);
      EXPECT_EQ(unit.key_begin, key);
      EXPECT_EQ(unit.key_begin % split, 0);
      if (unit.index > 0) {
        EXPECT_LE(unit.key_end, unit.key_begin + split);
      }
      EXPECT_EQ(unit.PartialRow(unit.index), *next_partial);
      *next_partial += unit.num_flat_rows;
      key = unit.key_end;
    }
    EXPECT_EQ(key, start + count);
    for (int position = start; position < start + count; ++position) {
      const auto begun = std::count_if(units.begin(), units.end(), [&](const DecodeUnit& unit) {
        return unit.key_begin <= position;
      });
      EXPECT_EQ(units.front().NumUnitsAt(position, split), begun) << "position " << position;
    }
  }

  FlashCapacity capacity_;
  FlashCounts counts_;
  std::vector<DecodeUnit> units_;
  std::vector<PrefillTile> tiles_;
  FlashWork work_;
  std::vector<DecodeUnit> units_in_use_;
};

class CutStepsWithLittleMemory : public CutSteps {
 protected:
  CutStepsWithLittleMemory() : CutSteps(StepLimits{64, 4, 64}) {}
};

TEST_F(CutSteps, ShortRowsAreDecodedAndLongOnesTiled) {
  const std::vector<std::pair<int, int>> sequences = {
      {1000, 1}, {0, 70}, {255, 4}, {600, 5}, {0, 1}};
  Cut(sequences);
  EXPECT_EQ(counts_.num_rows, 1 + 4 + 1);
  EXPECT_EQ(counts_.num_units, 4 + 2 + 1);
  EXPECT_EQ(counts_.decode_split, kKeySplit);
  ExpectUnitsCover(sequences, kKeySplit);
  ASSERT_EQ(work_.num_tiles, 3 + 1);
  std::vector<int> num_keys;
  for (int i = 0; i < work_.num_tiles; ++i)
    num_keys.push_back(tiles_[static_cast<size_t>(i)].num_keys);
  EXPECT_THAT(num_keys, ::testing::ElementsAre(605, 70, 64, 32));
  EXPECT_EQ(tiles_[0].slot_offset, 30000);
  EXPECT_EQ(tiles_[0].first_row, 75);
  EXPECT_EQ(tiles_[1].first_flat_row, 256);
  EXPECT_EQ(tiles_[1].num_flat_rows, 280);
}

TEST_F(CutSteps, EveryPositionIsCovered) {
  for (const int split : {64, 128, 256, 512}) {
    for (const int first_splits : {1, 2, 3, 100}) {
      for (const int start : {0, 1, 60, 63, 64, 252, 253, 255, 256, 257, 511, 512, 2047, 4092}) {
        const std::vector<std::pair<int, int>> sequences = {{start, 4}, {start, 1}, {17, 3}};
        Cut(sequences, {split, first_splits});
        EXPECT_EQ(counts_.num_rows, 8);
        ExpectUnitsCover(sequences, split);
      }
    }
  }
}

TEST_F(CutSteps, FirstUnitsComeFirst) {
  Cut({{1023, 1}, {99, 1}, {2047, 1}}, {kKeySplit, 3});
  std::vector<int> ends;
  for (const DecodeUnit& unit : units_in_use_) ends.push_back(unit.key_end);
  EXPECT_THAT(ends, ::testing::ElementsAre(768, 100, 768, 1024, 1024, 1280, 1536, 1792, 2048));
}

TEST_F(CutStepsWithLittleMemory, FirstUnitsTakeSeveralSplits) {
  ASSERT_EQ(capacity_.partial_rows, 4 * kWarpRows);
  const std::vector<std::pair<int, int>> full = {{996, 4}, {700, 4}, {254, 4}, {2000, 4}};
  Cut(full);
  EXPECT_EQ(counts_.num_units, 4);
  ExpectUnitsCover(full, kKeySplit);
  const std::vector<std::pair<int, int>> half = {{1023, 1}, {1024, 1}, {1025, 1}, {3000, 1}};
  Cut(half);
  EXPECT_EQ(counts_.num_units, 4 + 4 + 4 + 4);
  EXPECT_EQ(units_in_use_.back().key_begin, 2816);
  EXPECT_EQ(units_in_use_[3].key_end, 2304);
  ExpectUnitsCover(half, kKeySplit);
}

TEST_F(CutStepsWithLittleMemory, RefusesMoreSequencesThanItHas) {
  EXPECT_THROW(Cut({{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}), Error);
}

DecodeCut Occupancy(int num_sequences, int num_keys) {
  StepBatch batch;
  for (int i = 0; i < num_sequences; ++i) batch.sequences.push_back({i, 1, num_keys - 1, nullptr});
  return DecodeCut::ByOccupancy(DecodeLoad(batch, kGroup), 8, 264);
}

TEST(DecodeCut, SplitFollowsTheBatch) {
  EXPECT_EQ(Occupancy(1, 1).split, 64);
  EXPECT_EQ(Occupancy(1, 1024).split, 64);
  EXPECT_EQ(Occupancy(1, 8192).split, 256);
  EXPECT_EQ(Occupancy(8, 1024).split, 256);
  EXPECT_EQ(Occupancy(16, 1024).split, 512);
  EXPECT_EQ(Occupancy(64, 8192).split, 512);
}

// 264 blocks of threads and 8 KV heads: first units of all sequences fit into what a block of
// threads has to do, with some left.
TEST(DecodeCut, FirstUnitsLeaveWorkForTheOthers) {
  const auto first_splits = [](int num_sequences, int num_keys) {
    StepBatch batch;
    for (int i = 0; i < num_sequences; ++i) {
      batch.sequences.push_back({i, 1, num_keys - 1, nullptr});
    }
    const DecodeCut cut = DecodeCut::Deterministic(DecodeLoad(batch, kGroup), 8, 264);
    EXPECT_EQ(cut.split, kKeySplit);
    return cut.first_splits;
  };
  EXPECT_EQ(first_splits(0, 0), 1);
  EXPECT_EQ(first_splits(1, 8192), 1);
  EXPECT_EQ(first_splits(32, 8192), 23);  // Of 31 in all.
  EXPECT_EQ(first_splits(64, 8192), 23);  // Two each, of 62 in all.
  EXPECT_EQ(first_splits(128, 1024), 2);  // Four each, of 15 in all.
}

}  // namespace
}  // namespace detcheck::cuda
