// The attention backends: values against double precision, bits against each other.

#include "engine/embedded/cuda/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "engine/embedded/cuda/attention_flash.h"
#include "engine/embedded/cuda/check.h"
#include "tests/cuda/attention_rig.h"

namespace detcheck::cuda {
namespace {

AttentionShape Shape(int num_kv_heads, int group, int head_dim) {
  return {num_kv_heads * group, num_kv_heads, head_dim};
}

std::string Name(const AttentionShape& shape) {
  return "e" + std::to_string(shape.head_dim) + "_group" + std::to_string(shape.group());
}

struct Variant {
  std::string backend;
  AttentionShape shape;
};

std::string VariantName(const ::testing::TestParamInfo<Variant>& variant) {
  return variant.param.backend + "_" + Name(variant.param.shape);
}

std::vector<Variant> Variants(const std::vector<AttentionShape>& shapes) {
  std::vector<Variant> variants;
  for (const std::string& backend : AttentionBackendNames()) {
    for (const AttentionShape& shape : shapes) variants.push_back({backend, shape});
  }
  return variants;
}

// All rows of every sequence of the world, each in one step of its own.
std::vector<RowBits> SoloPrefills(const AttentionWorld& world, AttentionRig* rig) {
  std::vector<RowBits> rows;
  for (int s = 0; s < world.num_sequences(); ++s) {
    rows.push_back(rig->Run({{s, 0, world.length(s)}}).front());
  }
  return rows;
}

// Runs a step and compares each of its rows with that of the solo prefill.
::testing::AssertionResult SameBits(const AttentionWorld& world, const std::vector<RowBits>& solo,
                                    const std::vector<RowRange>& ranges, AttentionRig* rig) {
  const std::vector<RowBits> results = rig->Run(ranges);
  const auto width = static_cast<size_t>(world.shape().num_heads * world.shape().head_dim);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const RowRange& range = ranges[i];
    const uint16_t* expected =
        solo[static_cast<size_t>(range.sequence)].data() + static_cast<size_t>(range.start) * width;
    const std::string text = Differences(world.shape(), range.start, expected, results[i]);
    if (text.empty()) continue;
    return ::testing::AssertionFailure()
           << "sequence " << range.sequence << " rows " << range.start << " + " << range.count
           << " as item " << i << " of " << ranges.size() << ": " << text;
  }
  return ::testing::AssertionSuccess();
}

// --- values -----------------------------------------------------------------------------------

class AttentionValues : public ::testing::TestWithParam<Variant> {};

// Rounding of the weights and of the result to bf16 is nearly all that differs: each at most 2^-8
// of the terms.
void ExpectNear(const AttentionWorld& world, int sequence, int position, const uint16_t* row) {
  const AttentionShape& shape = world.shape();
  for (int head = 0; head < shape.num_heads; ++head) {
    const std::vector<double> exact = world.Exact(sequence, position, head);
    const std::vector<double> scale = world.ExactScale(sequence, position, head);
    for (int e = 0; e < shape.head_dim; ++e) {
      const auto i = static_cast<size_t>(e);
      const double actual = FloatOfBits(row[head * shape.head_dim + e]);
      ASSERT_LE(std::abs(actual - exact[i]), 2.05 * 0x1p-8 * scale[i] + 1e-6)
          << "sequence " << sequence << " position " << position << " head " << head << " element "
          << e << ": expected " << exact[i] << ", actual " << actual;
    }
  }
}

TEST_P(AttentionValues, AreThoseOfDoublePrecision) {
  const AttentionWorld world(GetParam().shape, {1, 40, 530}, 1);
  const auto width = static_cast<size_t>(world.shape().num_heads * world.shape().head_dim);
  for (const bool deterministic : {true, false}) {
    AttentionRig rig(GetParam().backend, deterministic, world);
    const std::vector<RowBits> solo = SoloPrefills(world, &rig);
    for (int s = 0; s < world.num_sequences(); ++s) {
      for (int p = world.length(s) - 1; p >= 0; p -= 1 + p / 3) {
        ExpectNear(world, s, p,
                   solo[static_cast<size_t>(s)].data() + static_cast<size_t>(p) * width);
        ExpectNear(world, s, p, rig.Run({{s, p, 1}}).front().data());
        if (HasFatalFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionValues,
                         ::testing::ValuesIn(Variants(
                             {Shape(2, 1, 32), Shape(2, 3, 32), Shape(2, 4, 32), Shape(3, 3, 64),
                              Shape(2, 7, 64), Shape(2, 16, 64), Shape(1, 1, 128), Shape(2, 2, 128),
                              Shape(2, 4, 128), Shape(1, 7, 128)})),
                         VariantName);

// --- bits -------------------------------------------------------------------------------------

class AttentionBits : public ::testing::TestWithParam<Variant> {};

const std::vector<int> kBoundaries = {0,   1,   15,  16,  63,  64,  65,  127, 128, 254,
                                      255, 256, 257, 319, 320, 510, 511, 512, 513, 699};

TEST_P(AttentionBits, DecodeIsPrefill) {
  const AttentionWorld world(GetParam().shape, {700}, 2);
  AttentionRig rig(GetParam().backend, true, world);
  const std::vector<RowBits> solo = SoloPrefills(world, &rig);
  std::vector<RowRange> together;
  for (const int p : kBoundaries) {
    ASSERT_TRUE(SameBits(world, solo, {{0, p, 1}}, &rig));
    together.push_back({0, p, 1});
  }
  EXPECT_TRUE(SameBits(world, solo, together, &rig));
}

TEST_P(AttentionBits, LengthChangesNothing) {
  const AttentionWorld world(GetParam().shape, {700}, 3);
  AttentionRig rig(GetParam().backend, true, world);
  const std::vector<RowBits> solo = SoloPrefills(world, &rig);
  for (const int p : kBoundaries) {
    ASSERT_TRUE(SameBits(world, solo, {{0, 0, p + 1}}, &rig)) << "prefill of " << p + 1;
  }
}

TEST_P(AttentionBits, ChunksChangeNothing) {
  const AttentionWorld world(GetParam().shape, {700}, 4);
  AttentionRig rig(GetParam().backend, true, world);
  const std::vector<RowBits> solo = SoloPrefills(world, &rig);
  for (const int chunk : {2, 3, 5, 9, 16, 17, 33, 100, 255, 256, 257, 400}) {
    for (int start = chunk < 9 ? 500 : 0; start < 700; start += chunk) {
      ASSERT_TRUE(SameBits(world, solo, {{0, start, std::min(chunk, 700 - start)}}, &rig))
          << "chunks of " << chunk;
    }
  }
}

TEST_P(AttentionBits, NeighboursChangeNothing) {
  const AttentionWorld world(GetParam().shape, {700, 1, 333, 64, 257, 600, 90}, 5, 7);
  AttentionRig rig(GetParam().backend, true, world);
  const std::vector<RowBits> solo = SoloPrefills(world, &rig);
  Rng rng(6);
  for (int step = 0; step < 40; ++step) {
    std::vector<RowRange> ranges;
    int num_rows = 0;
    for (int i = rng.Between(1, 30); i > 0; --i) {
      const int s = rng.Between(0, world.num_sequences() - 1);
      const int start = rng.Between(0, world.length(s) - 1);
      const int most = rng.Below(2) == 0 ? 1 : std::min(world.length(s) - start, 300);
      const int count = rng.Between(1, most);
      if ((num_rows += count) > 1500) break;
      ranges.push_back({s, start, count});
    }
    if (ranges.empty()) continue;
    ASSERT_TRUE(SameBits(world, solo, ranges, &rig)) << "step " << step;
  }
}

TEST_P(AttentionBits, PagesChangeNothing) {
  const AttentionShape& shape = GetParam().shape;
  const AttentionWorld world(shape, {600, 100}, 7);
  AttentionRig rig(GetParam().backend, true, world);
  const std::vector<RowBits> solo = SoloPrefills(world, &rig);
  for (const int page_size : {1, 7, 64, 1000}) {
    const AttentionWorld other_world(shape, {600, 100}, 7, page_size);
    ASSERT_NE(other_world.slots(0), world.slots(0));
    AttentionRig other(GetParam().backend, true, other_world);
    EXPECT_TRUE(SameBits(world, solo, {{0, 0, 600}, {1, 99, 1}, {0, 599, 1}}, &other))
        << "pages of " << page_size;
  }
}

// Keys and values that a row may not see are large, finite numbers.
TEST_P(AttentionBits, LaterKeysChangeNothing) {
  AttentionWorld world(GetParam().shape, {400}, 8);
  AttentionRig rig(GetParam().backend, true, world);
  const std::vector<RowBits> solo = SoloPrefills(world, &rig);
  const auto width = static_cast<size_t>(world.shape().num_heads * world.shape().head_dim);
  for (const int first : {390, 321, 320, 319, 257, 256, 255, 200, 130, 65, 64, 63, 17, 1}) {
    world.Overwrite(0, first, 1e30f, -3.3e38f);
    rig.UploadCache();
    RowBits rows = rig.Run({{0, 0, 400}}).front();
    rows.resize(static_cast<size_t>(first) * width);
    ASSERT_EQ(Differences(world.shape(), 0, solo[0].data(), rows), "")
        << "prefill, large from " << first;
    ASSERT_TRUE(SameBits(world, solo, {{0, first - 1, 1}, {0, first / 2, 1}}, &rig))
        << "decode, large from " << first;
    RowBits both = rig.Run({{0, first - 1, 2}}).front();
    both.resize(width);
    ASSERT_EQ(Differences(world.shape(), first - 1,
                          solo[0].data() + static_cast<size_t>(first - 1) * width, both),
              "")
        << "two rows, large from " << first;
  }
}

TEST_P(AttentionBits, OneGraphForAllSteps) {
  const AttentionWorld world(GetParam().shape, {700, 333, 64, 257}, 9);
  AttentionRig rig(GetParam().backend, true, world);
  const std::vector<RowBits> solo = SoloPrefills(world, &rig);
  const auto width = static_cast<size_t>(world.shape().num_heads * world.shape().head_dim);
  constexpr int kPadded = 8;
  rig.Prepare({{0, 3, 1}});
  rig.Launch(kPadded);  // Loads the kernels.
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  DETCHECK_CUDA(cudaStreamBeginCapture(rig.stream(), cudaStreamCaptureModeThreadLocal));
  rig.Launch(kPadded);
  DETCHECK_CUDA(cudaStreamEndCapture(rig.stream(), &graph));
  DETCHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  const std::vector<std::vector<RowRange>> steps = {
      {{0, 699, 1}, {1, 332, 1}, {2, 0, 1}, {3, 256, 1}, {0, 512, 1}},
      {{3, 255, 1}},
      {{0, 0, 1},
       {0, 255, 1},
       {0, 256, 1},
       {0, 257, 1},
       {1, 1, 1},
       {1, 2, 1},
       {1, 3, 1},
       {1, 64, 1}}};
  for (const std::vector<RowRange>& ranges : steps) {
    rig.Prepare(ranges);
    DETCHECK_CUDA(cudaGraphLaunch(exec, rig.stream()));
    const RowBits rows = rig.Result(kPadded);
    for (size_t i = 0; i < kPadded; ++i) {
      const RowBits row(rows.begin() + static_cast<int64_t>(i * width),
                        rows.begin() + static_cast<int64_t>((i + 1) * width));
      if (i >= ranges.size()) {
        EXPECT_THAT(row, ::testing::Each(0)) << "padding row " << i;
        continue;
      }
      const size_t at = static_cast<size_t>(ranges[i].start) * width;
      EXPECT_EQ(Differences(world.shape(), ranges[i].start,
                            solo[static_cast<size_t>(ranges[i].sequence)].data() + at, row),
                "")
          << "row " << i << " of " << ranges.size();
    }
  }
  DETCHECK_CUDA(cudaGraphExecDestroy(exec));
  DETCHECK_CUDA(cudaGraphDestroy(graph));
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionBits,
                         ::testing::ValuesIn(Variants({Shape(2, 2, 32), Shape(3, 3, 64),
                                                       Shape(2, 7, 64), Shape(2, 4, 128),
                                                       Shape(2, 1, 128), Shape(1, 16, 128)})),
                         VariantName);

// Memory for one partial result of each row: a unit then takes many splits.
TEST(FlashAttention, LittleMemoryChangesNothing) {
  const AttentionWorld world(Shape(2, 4, 128), {1000, 700}, 10);
  AttentionRig rig("flash", true, world), small("flash", true, world, {6, 64});
  const std::vector<RowBits> solo = SoloPrefills(world, &rig);
  EXPECT_TRUE(SameBits(world, solo, {{0, 999, 1}}, &small));
  EXPECT_TRUE(SameBits(world, solo,
                       {{0, 996, 4}, {1, 510, 4}, {0, 254, 4}, {1, 696, 4}, {0, 0, 4}, {0, 766, 4}},
                       &small));
}

// Kernels as a GPU with little shared memory gets them, against those that this one has.
class ShallowFlash : public ::testing::TestWithParam<AttentionShape> {};

TEST_P(ShallowFlash, HasTheBitsOfDeep) {
  const AttentionShape& shape = GetParam();
  const AttentionWorld world(shape, {530, 65, 1, 300}, 12, 7);
  AttentionRig deep("flash", true, world);
  RigLimits little;
  little.most_shared_bytes = flash::DecodeSharedBytes(shape.head_dim, flash::Depth::kShallow);
  AttentionRig shallow("flash", true, world, little);
  const std::vector<RowBits> solo = SoloPrefills(world, &deep);
  std::vector<RowRange> whole, last_rows;
  for (int s = 0; s < world.num_sequences(); ++s) {
    whole.push_back({s, 0, world.length(s)});
    last_rows.push_back({s, world.length(s) - 1, 1});
  }
  EXPECT_TRUE(SameBits(world, solo, whole, &shallow));
  EXPECT_TRUE(SameBits(world, solo, last_rows, &shallow));
  EXPECT_TRUE(SameBits(world, solo, {{0, 200, 330}, {1, 64, 1}, {3, 255, 1}}, &shallow));
  for (const int p : {0, 63, 64, 127, 128, 255, 256, 511, 512, 529}) {
    EXPECT_TRUE(SameBits(world, solo, {{0, p, 1}}, &shallow));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ShallowFlash,
                         ::testing::Values(Shape(2, 2, 32), Shape(2, 7, 64), Shape(2, 4, 128),
                                           Shape(1, 16, 128)),
                         [](const auto& variant) { return Name(variant.param); });

// The positive control: what the other tests look for does happen.
TEST(FlashAttention, DefaultModeDependsOnTheBatch) {
  const AttentionWorld world(Shape(8, 2, 128), {700}, 11);
  AttentionRig rig("flash", false, world);
  const std::vector<RowBits> solo = {rig.Run({{0, 0, 700}}).front()};
  const std::vector<RowRange> batch(40, RowRange{0, 699, 1});
  EXPECT_FALSE(SameBits(world, solo, {{0, 699, 1}}, &rig)) << "decode of one, and prefill";
  const RowBits alone = rig.Run({{0, 699, 1}}).front();
  const RowBits among = rig.Run(batch).front();
  EXPECT_NE(Differences(world.shape(), 699, alone.data(), among), "") << "decode of one, and of 40";
}

TEST(MakeAttention, RefusesWhatThereIsNot) {
  StepArrays step;
  StepArena arena(1 << 20);
  const StepLimits limits{64, 4, 128};
  const auto code = [&](const std::string& name, const AttentionShape& shape,
                        int most_shared_bytes = 1 << 20) {
    try {
      MakeAttention(name, true, shape, limits, step, &arena, most_shared_bytes);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kInternal;
  };
  EXPECT_EQ(code("flesh", Shape(1, 1, 64)), ErrorCode::kUsage);
  EXPECT_EQ(code("flash", Shape(1, 1, 80)), ErrorCode::kUnsupported);
  EXPECT_EQ(code("flash", Shape(1, 17, 64)), ErrorCode::kUnsupported);
  EXPECT_EQ(code("flash", Shape(1, 1, 128), 48 << 10), ErrorCode::kUnsupported);
  EXPECT_EQ(code("reference", Shape(1, 1, 264)), ErrorCode::kUnsupported);
  EXPECT_NE(MakeAttention("reference", true, Shape(1, 1, 80), limits, step, &arena), nullptr);
}

}  // namespace
}  // namespace detcheck::cuda
