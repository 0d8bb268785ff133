#include "engine/embedded/weights_dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace detcheck {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(WeightsDType, Bf16RoundsToNearestEven) {
  EXPECT_EQ(Bf16FromFloat(1.0f), 0x3f80);
  EXPECT_EQ(Bf16FromFloat(-0.0f), 0x8000);
  EXPECT_EQ(Bf16FromFloat(1.0f + 0x1p-8f), 0x3f80);             // tie: to even, down
  EXPECT_EQ(Bf16FromFloat(1.0f + 3 * 0x1p-8f), 0x3f82);         // tie: to even, up
  EXPECT_EQ(Bf16FromFloat(1.0f + 0x1p-8f + 0x1p-20f), 0x3f81);  // above the tie
  EXPECT_EQ(Bf16FromFloat(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(Bf16FromFloat(-kInf), 0xff80);
  EXPECT_TRUE(std::isnan(FloatFromBf16(Bf16FromFloat(kNan))));
}

TEST(WeightsDType, Bf16RoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = FloatFromBf16(static_cast<uint16_t>(bits));
    if (!std::isnan(value)) {
      EXPECT_EQ(Bf16FromFloat(value), bits);
    }
  }
}

TEST(WeightsDType, F16Values) {
  EXPECT_EQ(FloatFromF16(0x3c00), 1.0f);
  EXPECT_EQ(FloatFromF16(0xc000), -2.0f);
  EXPECT_EQ(FloatFromF16(0x7bff), 65504.0f);
  EXPECT_EQ(FloatFromF16(0x0001), 0x1p-24f);
  EXPECT_EQ(FloatFromF16(0x03ff), 0x1p-14f - 0x1p-24f);
  EXPECT_EQ(FloatFromF16(0x7c00), kInf);
  EXPECT_TRUE(std::isnan(FloatFromF16(0x7e00)));
  EXPECT_TRUE(std::signbit(FloatFromF16(0x8000)));
}

TEST(WeightsDType, F16RoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = FloatFromF16(static_cast<uint16_t>(bits));
    if (!std::isnan(value)) {
      EXPECT_EQ(F16FromFloat(value), bits);
    }
  }
}

TEST(WeightsDType, F16RoundsToNearestEven) {
  EXPECT_EQ(F16FromFloat(1.0f + 0x1p-11f), 0x3c00);
  EXPECT_EQ(F16FromFloat(1.0f + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(F16FromFloat(65519.0f), 0x7bff);
  EXPECT_EQ(F16FromFloat(65520.0f), 0x7c00);
  EXPECT_EQ(F16FromFloat(0x1p-25f), 0x0000);
  EXPECT_EQ(F16FromFloat(3 * 0x1p-25f), 0x0002);
  EXPECT_EQ(F16FromFloat(0x1p-14f - 0x1p-26f), 0x0400);
  EXPECT_TRUE(std::isnan(FloatFromF16(F16FromFloat(kNan))));
}

TEST(WeightsDType, ConvertsAllPairs) {
  const std::vector<float> values = {1.0f, -2.5f, 0.0f, 0x1p-10f};
  for (const DType from : {DType::kBf16, DType::kF16, DType::kF32}) {
    for (const DType to : {DType::kBf16, DType::kF16, DType::kF32}) {
      std::vector<std::byte> source(values.size() * DTypeBytes(from));
      std::vector<std::byte> target(values.size() * DTypeBytes(to));
      std::vector<float> back(values.size());
      const auto count = static_cast<int64_t>(values.size());
      EXPECT_EQ(ConvertElements(DType::kF32, values.data(), from, source.data(), count), -1);
      EXPECT_EQ(ConvertElements(from, source.data(), to, target.data(), count), -1);
      EXPECT_EQ(ConvertElements(to, target.data(), DType::kF32, back.data(), count), -1);
      EXPECT_EQ(back, values);
    }
  }
}

TEST(WeightsDType, ReportsWhatIsNotFinite) {
  const std::vector<float> values = {1.0f, 70000.0f, kNan};
  std::vector<float> out(values.size());
  EXPECT_EQ(ConvertElements(DType::kF32, values.data(), DType::kF16, out.data(), 3), 1);
  EXPECT_EQ(ConvertElements(DType::kF32, values.data(), DType::kBf16, out.data(), 3), 2);
  EXPECT_EQ(ConvertElements(DType::kF32, values.data(), DType::kF32, out.data(), 3), 2);
}

}  // namespace
}  // namespace detcheck
