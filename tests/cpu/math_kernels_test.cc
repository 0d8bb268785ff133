#include "engine/embedded/cpu/math_kernels.h"

#include <limits>

#include "tests/cpu/kernel_testing.h"

namespace detcheck::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

const std::vector<float>& EdgeValues() {
  static const std::vector<float> values = [] {
    std::vector<float> edges = {0.0f,
                                1.0f,
                                3.0f,
                                0x1.000002p0f,
                                0x1.fffffep0f,
                                0x1p-149f,
                                0x1p-148f,
                                0x1.8p-148f,
                                0x1p-126f,
                                0x1.fffffcp-127f,
                                0x1p-75f,
                                0x1p-74f,
                                0x1p-63f,
                                0x1p63f,
                                0x1p64f,
                                0x1p127f,
                                0x1.fffffep127f,
                                0x1.8p-75f,
                                0x1.000002p-75f,
                                1e-20f,
                                kInfinity,
                                std::numeric_limits<float>::quiet_NaN()};
    const size_t half = edges.size();
    for (size_t i = 0; i < half; ++i) edges.push_back(-edges[i]);
    return edges;
  }();
  return values;
}

// Compares the kernel of every level with std::fma, which is correctly rounded.
void ExpectFma(const std::vector<float>& a, const std::vector<float>& b,
               const std::vector<float>& c) {
  for (SimdLevel level : AvailableLevels()) {
    std::vector<float> y(a.size());
    KernelsFor(level).math.fma(a.data(), b.data(), c.data(), y.data(),
                               static_cast<int64_t>(y.size()));
    for (size_t i = 0; i < y.size(); ++i) {
      ASSERT_EQ(BitsOf(y[i]), BitsOf(std::fma(a[i], b[i], c[i])))
          << SimdLevelName(level) << ": " << a[i] << " * " << b[i] << " + " << c[i];
    }
  }
}

TEST(Fma, IsCorrectlyRoundedOnRandomBits) {
  constexpr size_t kNum = 1 << 21;
  ExpectFma(RandomBits(kNum, 1), RandomBits(kNum, 2), RandomBits(kNum, 3));
}

TEST(Fma, IsCorrectlyRoundedWhereTheSumCancels) {
  constexpr size_t kNum = 1 << 19;
  const std::vector<float> a = RandomBits(kNum, 4);
  const std::vector<float> b = RandomBits(kNum, 5);
  std::vector<float> c(kNum);
  for (size_t i = 0; i < kNum; ++i) c[i] = -(a[i] * b[i]);
  ExpectFma(a, b, c);
}

TEST(Fma, IsCorrectlyRoundedNearHalfWayOfSubnormals) {
  constexpr size_t kNum = 1 << 19;
  std::vector<float> a = RandomActivations(kNum, 6);
  std::vector<float> b = RandomActivations(kNum, 7);
  std::vector<float> c = RandomActivations(kNum, 8);
  for (size_t i = 0; i < kNum; ++i) {
    a[i] *= 0x1p-70f;
    b[i] *= 0x1p-70f;
    c[i] *= 0x1p-140f;
  }
  ExpectFma(a, b, c);
}

TEST(Fma, IsCorrectlyRoundedOnEdgeValues) {
  std::vector<float> a, b, c;
  for (float x : EdgeValues()) {
    for (float y : EdgeValues()) {
      for (float z : EdgeValues()) {
        a.push_back(x);
        b.push_back(y);
        c.push_back(z);
      }
    }
  }
  ExpectFma(a, b, c);
}

// Every 256th float32, from an odd start.
std::vector<float> SweepOfFloats(uint32_t block) {
  std::vector<float> x(1 << 20);
  for (uint32_t i = 0; i < x.size(); ++i) {
    x[i] = std::bit_cast<float>((block * static_cast<uint32_t>(x.size()) + i) * 256 + 37);
  }
  return x;
}
constexpr uint32_t kSweepBlocks = 16;

using ArrayKernel = void (*)(const float* x, float* y, int64_t n);

// All levels agree on a sweep of all floats, and are within 2 ulp of `reference`.
void ExpectAccurate(ArrayKernel MathKernels::*kernel, long double (*reference)(long double)) {
  for (uint32_t block = 0; block < kSweepBlocks; ++block) {
    const std::vector<float> x = SweepOfFloats(block);
    const int64_t n = static_cast<int64_t>(x.size());
    std::vector<float> y(x.size());
    (KernelsFor(SimdLevel::kBaseline).math.*kernel)(x.data(), y.data(), n);
    for (SimdLevel level : AvailableLevels()) {
      std::vector<float> other(x.size());
      (KernelsFor(level).math.*kernel)(x.data(), other.data(), n);
      ASSERT_EQ(BitsOf(other), BitsOf(y)) << SimdLevelName(level) << " block " << block;
    }
    for (size_t i = 0; i < x.size(); i += 7) {
      const long double exact = reference(x[i]);
      const float nearest = static_cast<float>(exact);
      if (!std::isfinite(nearest)) {
        ASSERT_EQ(BitsOf(y[i]), BitsOf(nearest)) << x[i];
      } else if (exact != 0) {
        ASSERT_LE(UlpError(y[i], exact), 2.0) << x[i];
      }
    }
  }
}

TEST(Exp, IsWithinTwoUlpAndEqualAtAllLevels) {
  ExpectAccurate(&MathKernels::exp, std::exp);
}

TEST(Log, IsWithinTwoUlpAndEqualAtAllLevels) {
  ExpectAccurate(&MathKernels::log, std::log);
}

float At(ArrayKernel kernel, float x) {
  float y = 0;
  kernel(&x, &y, 1);
  return y;
}

TEST(Exp, KeepsSpecialValues) {
  for (SimdLevel level : AvailableLevels()) {
    const MathKernels& math = KernelsFor(level).math;
    EXPECT_EQ(At(math.exp, 0.0f), 1.0f);
    EXPECT_EQ(At(math.exp, -kInfinity), 0.0f);
    EXPECT_EQ(At(math.exp, kInfinity), kInfinity);
    EXPECT_TRUE(std::isnan(At(math.exp, std::nanf(""))));
  }
}

TEST(Log, KeepsSpecialValues) {
  for (SimdLevel level : AvailableLevels()) {
    const MathKernels& math = KernelsFor(level).math;
    EXPECT_EQ(BitsOf(At(math.log, 1.0f)), BitsOf(0.0f));
    EXPECT_EQ(At(math.log, 0.0f), -kInfinity);
    EXPECT_EQ(At(math.log, -0.0f), -kInfinity);
    EXPECT_EQ(At(math.log, kInfinity), kInfinity);
    EXPECT_TRUE(std::isnan(At(math.log, -1.0f)));
    EXPECT_TRUE(std::isnan(At(math.log, std::nanf(""))));
  }
}

TEST(MathKernels, TreatTailsAsTheRest) {
  const std::vector<float> x = RandomActivations(100, 9);
  for (SimdLevel level : AvailableLevels()) {
    const MathKernels& math = KernelsFor(level).math;
    for (ArrayKernel kernel : {math.exp, math.log, math.round_bf16, math.round_f16}) {
      for (int64_t n = 0; n <= 40; ++n) {
        std::vector<float> y(static_cast<size_t>(n) + 1, 42.0f);
        kernel(x.data(), y.data(), n);
        for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
          ASSERT_EQ(BitsOf(y[i]), BitsOf(At(kernel, x[i])));
        }
        ASSERT_EQ(y.back(), 42.0f) << "written past the end";
      }
    }
  }
}

TEST(Dispatch, ListsLevelsFromBaselineToTheFastest) {
  EXPECT_EQ(AvailableLevels().front(), SimdLevel::kBaseline);
  EXPECT_EQ(AvailableLevels().back(), DetectSimdLevel());
  EXPECT_STREQ(SimdLevelName(SimdLevel::kBaseline), "baseline");
  EXPECT_STREQ(SimdLevelName(SimdLevel::kAvx512), "avx512");
}

}  // namespace
}  // namespace detcheck::cpu
