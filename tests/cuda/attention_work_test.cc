// How a step is cut into work. Needs no device.

#include "engine/embedded/cuda/attention_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

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
        rows_(static_cast<size_t>(capacity_.combine_rows)),
        tiles_(static_cast<size_t>(capacity_.tiles)) {
    work_.counts = {&counts_, nullptr, 1};
    work_.units = {units_.data(), nullptr, capacity_.units};
    work_.combine_rows = {rows_.data(), nullptr, capacity_.combine_rows};
    work_.tiles = {tiles_.data(), nullptr, capacity_.tiles};
  }

  // Sequences given as (start, count); the slots of sequence i begin at 10,000 * i.
  void Cut(const std::vector<std::pair<int, int>>& sequences, int split = kKeySplit) {
    StepBatch batch;
    std::vector<int64_t> offsets;
    int first_row = 0;
    for (const auto& [start, count] : sequences) {
      offsets.push_back(static_cast<int64_t>(10000 * offsets.size()));
      batch.sequences.push_back({first_row, count, start, nullptr});
      first_row += count;
    }
    CutStep(batch, offsets.data(), kGroup, split, capacity_, &work_);
    units_in_use_.assign(units_.begin(), units_.begin() + counts_.num_units);
    rows_in_use_.assign(rows_.begin(), rows_.begin() + counts_.num_combine_rows);
  }

  // Every decoded row's partial rows are those of units of its sequence that follow each other from
  // key 0 on, begin at split boundaries, and end with the one that holds the row's position.
  void ExpectRowsCovered(const std::vector<std::pair<int, int>>& sequences, int split) {
    std::map<int, DecodeUnit> unit_of_partial;
    int next_partial = 0;
    for (const DecodeUnit& unit : units_in_use_) {
      EXPECT_EQ(unit.first_partial, next_partial);
      EXPECT_EQ(unit.key_begin % split, 0);
      next_partial += unit.num_flat_rows;
      for (int i = 0; i < unit.num_flat_rows; ++i) unit_of_partial[unit.first_partial + i] = unit;
    }
    EXPECT_LE(next_partial, capacity_.partial_rows);
    for (const CombineRow& row : rows_in_use_) {
      int position = -1, first_row = 0;
      for (const auto& [start, count] : sequences) {
        if (row.row >= first_row && row.row < first_row + count) {
          position = start + row.row - first_row;
          break;
        }
        first_row += count;
      }
      int key = 0;
      for (int i = 0; i < row.num_partials; ++i) {
        const int partial = row.first_partial + i * row.partial_stride;
        const DecodeUnit& unit = unit_of_partial.at(partial);
        EXPECT_EQ(unit.first_row, first_row);
        EXPECT_EQ(unit.key_begin, key);
        EXPECT_LE(unit.key_begin, position);
        EXPECT_EQ(partial - unit.first_partial, (row.row - first_row) * kGroup);
        key = unit.key_end;
      }
      EXPECT_GT(key, position) << "row " << row.row;
    }
  }

  FlashCapacity capacity_;
  FlashCounts counts_;
  std::vector<DecodeUnit> units_;
  std::vector<CombineRow> rows_;
  std::vector<PrefillTile> tiles_;
  FlashWork work_;
  std::vector<DecodeUnit> units_in_use_;
  std::vector<CombineRow> rows_in_use_;
};

class CutStepsWithLittleMemory : public CutSteps {
 protected:
  CutStepsWithLittleMemory() : CutSteps(StepLimits{64, 4, 64}) {}
};

TEST_F(CutSteps, ShortRowsAreDecodedAndLongOnesTiled) {
  const std::vector<std::pair<int, int>> sequences = {
      {1000, 1}, {0, 70}, {255, 4}, {600, 5}, {0, 1}};
  Cut(sequences);
  EXPECT_EQ(counts_.num_combine_rows, 1 + 4 + 1);
  EXPECT_EQ(counts_.num_units, 4 + 2 + 1);
  EXPECT_EQ(counts_.decode_split, kKeySplit);
  ExpectRowsCovered(sequences, kKeySplit);
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
    for (const int start : {0, 1, 60, 63, 64, 252, 253, 255, 256, 257, 511, 512, 2047, 4092}) {
      const std::vector<std::pair<int, int>> sequences = {{start, 4}, {start, 1}, {17, 3}};
      Cut(sequences, split);
      EXPECT_EQ(counts_.num_combine_rows, 8);
      ExpectRowsCovered(sequences, split);
    }
  }
}

TEST_F(CutStepsWithLittleMemory, FirstUnitsTakeSeveralSplits) {
  ASSERT_EQ(capacity_.partial_rows, 4 * kWarpRows);
  const std::vector<std::pair<int, int>> full = {{996, 4}, {700, 4}, {254, 4}, {2000, 4}};
  Cut(full);
  EXPECT_EQ(counts_.num_units, 4);
  ExpectRowsCovered(full, kKeySplit);
  const std::vector<std::pair<int, int>> half = {{1023, 1}, {1024, 1}, {1025, 1}, {3000, 1}};
  Cut(half);
  EXPECT_EQ(counts_.num_units, 4 + 4 + 4 + 4);
  EXPECT_EQ(units_in_use_.back().key_begin, 2816);
  EXPECT_EQ(units_in_use_[12].key_end, 2304);
  ExpectRowsCovered(half, kKeySplit);
}

TEST(DecodeSplitFor, FollowsTheBatch) {
  EXPECT_EQ(DecodeSplitFor(1, 8, 396), 64);
  EXPECT_EQ(DecodeSplitFor(1024, 8, 396), 64);
  EXPECT_EQ(DecodeSplitFor(32 * 1024, 8, 396), 192);
  EXPECT_EQ(DecodeSplitFor(64 * 8192, 8, 396), 512);
}

}  // namespace
}  // namespace detcheck::cuda
