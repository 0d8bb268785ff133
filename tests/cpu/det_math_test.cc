#include "engine/embedded/cpu/det_math.h"

#include <limits>

#include "tests/cpu/kernel_testing.h"

namespace detcheck::cpu {
namespace {

// Distance in units of the last place of double.
double UlpErrorDouble(double actual, long double expected) {
  const int exponent = std::max(std::ilogb(expected), -1022);
  return static_cast<double>(std::fabs(actual - expected) / std::ldexp(1.0L, exponent - 52));
}

std::vector<double> Uniform(double low, double high, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> values(200000);
  for (double& x : values) {
    x = low + (high - low) * (static_cast<double>(random() >> 11) * 0x1p-53);
  }
  return values;
}

TEST(DetMath, FloatFunctionsAreThoseOfTheKernels) {
  for (float x : RandomActivations(2000, 1)) {
    for (SimdLevel level : AvailableLevels()) {
      float y = 0;
      KernelsFor(level).math.exp(&x, &y, 1);
      ASSERT_EQ(BitsOf(DetExp(x)), BitsOf(y));
      KernelsFor(level).math.log(&x, &y, 1);
      ASSERT_EQ(BitsOf(DetLog(x)), BitsOf(y));
    }
  }
}

TEST(DetExpDouble, IsAccurate) {
  for (double x : Uniform(-708, 709, 2)) {
    ASSERT_LE(UlpErrorDouble(DetExpDouble(x), std::exp(static_cast<long double>(x))), 1.1) << x;
  }
  EXPECT_EQ(DetExpDouble(0), 1);
  EXPECT_EQ(DetExpDouble(-800), 0);
  EXPECT_EQ(DetExpDouble(800), std::numeric_limits<double>::infinity());
  EXPECT_NEAR(DetExpDouble(-740) / std::exp(-740.0), 1, 1e-2);
  EXPECT_TRUE(std::isnan(DetExpDouble(std::nan(""))));
}

TEST(DetLogDouble, IsAccurate) {
  for (double y : Uniform(-700, 700, 3)) {
    const double x = std::exp(y);
    ASSERT_LE(UlpErrorDouble(DetLogDouble(x), std::log(static_cast<long double>(x))), 1.1) << x;
  }
  for (double x : Uniform(0.5, 2, 4)) {
    ASSERT_LE(UlpErrorDouble(DetLogDouble(x), std::log(static_cast<long double>(x))), 1.1) << x;
  }
  EXPECT_EQ(DetLogDouble(1), 0);
  EXPECT_EQ(DetLogDouble(0), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(DetLogDouble(-1)));
  EXPECT_DOUBLE_EQ(DetLogDouble(0x1p-1074), -1074 * 0.69314718055994530942);
}

TEST(DetSinCos, AreAccurate) {
  for (const double limit : {1.0, 10.0, 131072.0, 1048575.0}) {
    for (double x : Uniform(-limit, limit, 5)) {
      const long double sin = std::sin(static_cast<long double>(x));
      const long double cos = std::cos(static_cast<long double>(x));
      ASSERT_LE(UlpErrorDouble(DetSin(x), sin), 1.1) << x;
      ASSERT_LE(UlpErrorDouble(DetCos(x), cos), 1.1) << x;
      ASSERT_LE(UlpError(static_cast<float>(DetSin(x)), sin), 0.51) << x;
      ASSERT_LE(UlpError(static_cast<float>(DetCos(x)), cos), 0.51) << x;
    }
  }
  // Where the reduction cancels most: whole positions near multiples of pi / 2.
  for (double x : {11.0, 355.0, 710.0, 103993.0, 104348.0, 208341.0, 312689.0, 833719.0}) {
    ASSERT_LE(UlpErrorDouble(DetSin(x), std::sin(static_cast<long double>(x))), 1.1) << x;
    ASSERT_LE(UlpErrorDouble(DetCos(x), std::cos(static_cast<long double>(x))), 1.1) << x;
  }
  EXPECT_EQ(DetSin(0), 0);
  EXPECT_EQ(DetCos(0), 1);
}

TEST(DetPow, IsAccurateForRope) {
  for (double theta : {10000.0, 500000.0, 1000000.0}) {
    for (double exponent : Uniform(-1, 1, 6)) {
      const long double exact = std::pow(static_cast<long double>(theta), exponent);
      ASSERT_LE(UlpErrorDouble(DetPow(theta, exponent), exact), 40.0) << theta << " " << exponent;
    }
  }
}

TEST(Rope, FrequenciesFollowTheFormula) {
  const std::vector<double> inv_freq = RopeInvFreq(1e6, 128, {});
  ASSERT_EQ(inv_freq.size(), 64u);
  EXPECT_EQ(inv_freq[0], 1.0);
  for (size_t i = 0; i < inv_freq.size(); ++i) {
    const double expected = std::pow(1e6, -2.0 * static_cast<double>(i) / 128.0);
    EXPECT_NEAR(inv_freq[i] / expected, 1, 1e-14);
  }
}

TEST(Rope, Llama3ScalingKeepsHighAndDividesLowFrequencies) {
  const Llama3RopeScaling scaling;
  const std::vector<double> plain = RopeInvFreq(500000, 128, {});
  const std::vector<double> scaled = RopeInvFreq(500000, 128, scaling);
  // Hugging Face transformers 4.44, _compute_llama3_parameters: wavelengths 2 pi / f against 2048
  // and 8192.
  for (size_t i = 0; i < plain.size(); ++i) {
    const double wavelength = 6.283185307179586 / plain[i];
    if (wavelength < 2048) {
      EXPECT_EQ(scaled[i], plain[i]);
    } else if (wavelength > 8192) {
      EXPECT_EQ(scaled[i], plain[i] / 8);
    } else {
      const double smooth = (8192 / wavelength - 1) / 3;
      EXPECT_NEAR(scaled[i], (1 - smooth) * plain[i] / 8 + smooth * plain[i], 1e-12);
    }
  }
}

TEST(Rope, RowsAreWithinTwoUlpUpToTheLongestContext) {
  const std::vector<double> inv_freq = RopeInvFreq(1e6, 128, {});
  std::vector<float> cos(64), sin(64);
  for (int64_t position : {0, 1, 17, 4096, 40960, 131071, 131072}) {
    RopeRow(inv_freq, position, cos.data(), sin.data());
    for (size_t i = 0; i < inv_freq.size(); ++i) {
      const long double angle = static_cast<double>(position) * inv_freq[i];
      if (angle == 0) continue;
      EXPECT_LE(UlpError(cos[i], std::cos(angle)), 2.0) << position << " " << i;
      EXPECT_LE(UlpError(sin[i], std::sin(angle)), 2.0) << position << " " << i;
    }
  }
}

}  // namespace
}  // namespace detcheck::cpu
