#include "engine/embedded/cpu/float_format.h"

#include "tests/cpu/kernel_testing.h"

namespace detcheck::cpu {
namespace {

std::vector<uint16_t> AllHalves() {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  return all;
}

// The value of 16 bits from the definition of a format, in exact arithmetic. Not for specials.
double ValueOf(uint16_t bits, int mantissa_bits, int bias) {
  const int exponent = (bits & 0x7fff) >> mantissa_bits;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
  const double magnitude = std::ldexp(whole, std::max(exponent, 1) - bias - mantissa_bits);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

struct Format {
  const char* name;
  int mantissa_bits;
  int bias;
  float (*to_float)(uint16_t);
  uint16_t (*from_float)(float);
  void (*MathKernels::*widen)(const uint16_t*, float*, int64_t);
  void (*MathKernels::*narrow)(const float*, uint16_t*, int64_t);
  void (*MathKernels::*round)(const float*, float*, int64_t);

  uint16_t infinity() const {
    return static_cast<uint16_t>(0x7fff >> mantissa_bits << mantissa_bits);
  }
  bool IsNan(uint16_t bits) const { return (bits & 0x7fff) > infinity(); }
};

const Format kFormats[] = {{"bf16", 7, 127, Bf16ToFloat, FloatToBf16, &MathKernels::bf16_to_float,
                            &MathKernels::float_to_bf16, &MathKernels::round_bf16},
                           {"f16", 10, 15, F16ToFloat, FloatToF16, &MathKernels::f16_to_float,
                            &MathKernels::float_to_f16, &MathKernels::round_f16}};

TEST(FloatFormat, WidensAllValuesExactlyAndBack) {
  for (const Format& format : kFormats) {
    for (uint16_t bits : AllHalves()) {
      const float x = format.to_float(bits);
      if (format.IsNan(bits)) {
        ASSERT_TRUE(std::isnan(x)) << format.name << " " << bits;
        ASSERT_TRUE(format.IsNan(format.from_float(x))) << format.name << " " << bits;
        continue;
      }
      if ((bits & 0x7fff) == format.infinity()) {
        ASSERT_TRUE(std::isinf(x) && std::signbit(x) == ((bits & 0x8000) != 0));
      } else {
        ASSERT_EQ(x, ValueOf(bits, format.mantissa_bits, format.bias))
            << format.name << " " << bits;
      }
      ASSERT_EQ(format.from_float(x), bits) << format.name;
    }
  }
}

// Between each two neighbours: just below, at and just above half way.
TEST(FloatFormat, RoundsToNearestTiesToEvenBetweenAllNeighbours) {
  for (const Format& format : kFormats) {
    for (uint16_t bits = 0; bits < format.infinity(); ++bits) {
      const uint16_t next = static_cast<uint16_t>(bits + 1);
      const double low = ValueOf(bits, format.mantissa_bits, format.bias);
      const double high = ValueOf(next, format.mantissa_bits, format.bias);
      const float middle = static_cast<float>((low + high) / 2);
      const float below = std::nextafter(middle, 0.0f);
      const float above = std::nextafter(middle, INFINITY);
      const uint16_t even = (bits & 1) == 0 ? bits : next;
      ASSERT_EQ(format.from_float(middle), even) << format.name << " " << bits;
      ASSERT_EQ(format.from_float(below), bits) << format.name << " " << bits;
      ASSERT_EQ(format.from_float(above), next) << format.name << " " << bits;
      ASSERT_EQ(format.from_float(-middle), even | 0x8000) << format.name << " " << bits;
    }
  }
}

TEST(FloatFormat, RoundsPublishedValues) {
  // Python: torch.tensor(x).bfloat16(), numpy.float16(x).
  EXPECT_EQ(FloatToBf16(3.14159265f), 0x4049);
  EXPECT_EQ(FloatToBf16(1.00390625f), 0x3f80);
  EXPECT_EQ(FloatToBf16(1.01171875f), 0x3f82);
  EXPECT_EQ(FloatToBf16(3.4e38f), 0x7f80);
  EXPECT_EQ(FloatToF16(3.14159265f), 0x4248);
  EXPECT_EQ(FloatToF16(65504.0f), 0x7bff);
  EXPECT_EQ(FloatToF16(65519.996f), 0x7bff);
  EXPECT_EQ(FloatToF16(65520.0f), 0x7c00);
  EXPECT_EQ(FloatToF16(5.9604645e-8f), 0x0001);
  EXPECT_EQ(FloatToF16(2.9802322e-8f), 0x0000);
}

TEST(FloatFormat, KernelsWidenAllValuesAsTheScalars) {
  const std::vector<uint16_t> all = AllHalves();
  for (const Format& format : kFormats) {
    for (SimdLevel level : AvailableLevels()) {
      std::vector<float> wide(all.size());
      (KernelsFor(level).math.*format.widen)(all.data(), wide.data(), 65536);
      for (size_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(BitsOf(wide[i]), BitsOf(format.to_float(all[i])))
            << format.name << " " << SimdLevelName(level) << " " << i;
      }
    }
  }
}

TEST(FloatFormat, KernelsRoundAsTheScalars) {
  // All float32 within two units of a value of the format or half way between two, near enough.
  std::vector<float> x = RandomBits(1 << 18, 1);
  for (uint32_t high = 0; high < 65536; ++high) {
    for (uint32_t low : {0x0000u, 0x0001u, 0x0fffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u}) {
      x.push_back(std::bit_cast<float>(high << 16 | low));
    }
  }
  const int64_t n = static_cast<int64_t>(x.size());
  for (const Format& format : kFormats) {
    for (SimdLevel level : AvailableLevels()) {
      std::vector<uint16_t> narrow(x.size());
      std::vector<float> rounded(x.size());
      (KernelsFor(level).math.*format.narrow)(x.data(), narrow.data(), n);
      (KernelsFor(level).math.*format.round)(x.data(), rounded.data(), n);
      for (size_t i = 0; i < x.size(); ++i) {
        const uint16_t expected = format.from_float(x[i]);
        ASSERT_EQ(format.IsNan(narrow[i]), format.IsNan(expected));
        if (!format.IsNan(expected)) {
          ASSERT_EQ(narrow[i], expected)
              << format.name << " " << SimdLevelName(level) << " " << x[i];
        }
        ASSERT_EQ(BitsOf(rounded[i]), BitsOf(format.to_float(expected)))
            << format.name << " " << SimdLevelName(level) << " " << x[i];
      }
    }
  }
}

}  // namespace
}  // namespace detcheck::cpu
