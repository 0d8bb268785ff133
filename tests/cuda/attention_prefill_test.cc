// The prefill kernels of the flash backend against each other.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "engine/embedded/cuda/attention_flash.h"
#include "engine/embedded/cuda/check.h"
#include "engine/embedded/cuda/device_memory.h"
#include "tests/cuda/attention_rig.h"

namespace detcheck::cuda {
namespace {

constexpr AttentionShape ShapeOf(int head_dim, int group) {
  return {2 * group, 2, head_dim};
}

template <typename T>
DeviceBuffer ToDevice(const std::vector<T>& values) {
  DeviceBuffer buffer(values.size() * sizeof(T));
  DETCHECK_CUDA(
      cudaMemcpy(buffer.as<T>(), values.data(), buffer.num_bytes(), cudaMemcpyHostToDevice));
  return buffer;
}

// One layer's prefill of rows of a world, on the device.
class PrefillStep {
 public:
  PrefillStep(const AttentionWorld& world, const std::vector<RowRange>& ranges)
      : shape_(world.shape()),
        arena_(1 << 20),
        keys_(ToDevice(world.keys())),
        values_(ToDevice(world.values())) {
    StepBatch batch;
    std::vector<uint16_t> qkv;
    std::vector<int32_t> slots;
    std::vector<int64_t> offsets;
    for (const RowRange& range : ranges) {
      batch.sequences.push_back({num_rows_, range.count, range.start, nullptr});
      num_rows_ += range.count;
      offsets.push_back(static_cast<int64_t>(slots.size()));
      slots.insert(slots.end(), world.slots(range.sequence).begin(),
                   world.slots(range.sequence).end());
      const uint16_t* first = world.Qkv(range.sequence, range.start);
      qkv.insert(qkv.end(), first, first + range.count * shape_.qkv_width());
    }
    qkv_ = ToDevice(qkv);
    slots_ = ToDevice(slots);
    const FlashCapacity capacity(shape_, {num_rows_, static_cast<int>(ranges.size()), 1024});
    FlashWork work = FlashWork::Reserve(capacity, &arena_);
    CutStep(batch, offsets.data(), shape_.group(), {}, capacity, &work);
    arena_.Upload(work.tiles, work.num_tiles, stream_.get());
    args_.layer.qkv = qkv_.as<__nv_bfloat16>();
    args_.layer.kv = {keys_.as<__nv_bfloat16>(), values_.as<__nv_bfloat16>(), world.num_slots()};
    args_.layer.slot_table = slots_.as<int32_t>();
    args_.layer.num_kv_heads = shape_.num_kv_heads;
    args_.layer.group = shape_.group();
    args_.layer.qkv_width = shape_.qkv_width();
    args_.layer.out_width = shape_.num_heads * shape_.head_dim;
    args_.layer.scale = static_cast<float>(1.4426950408889634 / std::sqrt(1.0 * shape_.head_dim));
    args_.tiles = work.tiles.device;
    args_.num_tiles = work.num_tiles;
    args_.split = kKeySplit;
  }

  RowBits Run(flash::PrefillLauncher launch) const {
    RowBits rows(static_cast<size_t>(num_rows_) * static_cast<size_t>(args_.layer.out_width));
    const DeviceBuffer out(rows.size() * sizeof(uint16_t));
    flash::PrefillArgs args = args_;
    args.layer.out = out.as<__nv_bfloat16>();
    launch(args, stream_.get());
    stream_.Synchronize();
    DETCHECK_CUDA(
        cudaMemcpy(rows.data(), out.as<uint16_t>(), out.num_bytes(), cudaMemcpyDeviceToHost));
    return rows;
  }

 private:
  AttentionShape shape_;
  Stream stream_;
  StepArena arena_;
  DeviceBuffer keys_;
  DeviceBuffer values_;
  DeviceBuffer qkv_;
  DeviceBuffer slots_;
  flash::PrefillArgs args_;
  int num_rows_ = 0;
};

class PrefillKernels : public ::testing::TestWithParam<AttentionShape> {};

TEST_P(PrefillKernels, GiveTheSameBits) {
  const AttentionShape& shape = GetParam();
  const flash::PrefillLauncher mma = flash::PrepareMmaPrefill(shape.head_dim, flash::Depth::kDeep);
  const flash::PrefillLauncher shallow =
      flash::PrepareMmaPrefill(shape.head_dim, flash::Depth::kShallow);
  const flash::PrefillLauncher wgmma =
      flash::PrepareWgmmaPrefill(shape.head_dim, std::numeric_limits<int>::max());
  const AttentionWorld world(shape, {1000, 90, 333}, 12);
  const std::vector<RowRange> ranges = {{0, 0, 1000}, {1, 0, 90}, {2, 100, 233}, {0, 700, 20}};
  const PrefillStep step(world, ranges);
  const RowBits expected = step.Run(mma);
  EXPECT_EQ(Differences(shape, 0, expected.data(), step.Run(shallow)), "");
  if (wgmma == nullptr) return;  // Neither this device nor this build has to have it.
  EXPECT_EQ(Differences(shape, 0, expected.data(), step.Run(wgmma)), "");
}

INSTANTIATE_TEST_SUITE_P(Shapes, PrefillKernels,
                         ::testing::Values(ShapeOf(32, 3), ShapeOf(64, 1), ShapeOf(64, 7),
                                           ShapeOf(128, 1), ShapeOf(128, 4), ShapeOf(128, 16)),
                         [](const ::testing::TestParamInfo<AttentionShape>& variant) {
                           return "e" + std::to_string(variant.param.head_dim) + "_group" +
                                  std::to_string(variant.param.group());
                         });

}  // namespace
}  // namespace detcheck::cuda
