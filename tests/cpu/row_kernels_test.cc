#include "engine/embedded/cpu/row_kernels.h"

#include <algorithm>
#include <limits>

#include "tests/cpu/kernel_testing.h"

namespace detcheck::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kEps = 1e-6f;
constexpr Rounding kRoundings[] = {Rounding::kNone, Rounding::kBf16, Rounding::kF16};

const std::vector<int64_t>& RowLengths() {
  static const std::vector<int64_t> lengths = {1, 2, 15, 16, 17, 31, 33, 64, 100, 1024, 3072};
  return lengths;
}

float Round(float x, Rounding rounding) {
  switch (rounding) {
    case Rounding::kBf16:
      return Bf16ToFloat(FloatToBf16(x));
    case Rounding::kF16:
      return F16ToFloat(FloatToF16(x));
    case Rounding::kNone:
      break;
  }
  return x;
}

std::vector<float> RandomRow(int64_t n, uint32_t seed, Rounding rounding) {
  std::vector<float> row = RandomActivations(static_cast<size_t>(n), seed);
  for (float& x : row) x = Round(x, rounding);
  return row;
}

// The order that RowKernels promises, by definition.
float SumInOrder(const std::vector<float>& terms) {
  float lane[16] = {};
  for (size_t i = 0; i < terms.size(); ++i) lane[i % 16] += terms[i];
  for (int half = 8; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) lane[j] += lane[j + half];
  }
  return lane[0];
}

float SquareSumInOrder(const std::vector<float>& x) {
  float lane[16] = {};
  for (size_t i = 0; i < x.size(); ++i) lane[i % 16] = std::fma(x[i], x[i], lane[i % 16]);
  return SumInOrder(std::vector<float>(lane, lane + 16));
}

std::vector<float> ExpectedRmsNorm(const std::vector<float>& x, const std::vector<float>& weight,
                                   Rounding rounding) {
  const float mean = SquareSumInOrder(x) / static_cast<float>(x.size());
  const float inverse = 1.0f / std::sqrt(mean + kEps);
  std::vector<float> out(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    out[i] = Round(Round(x[i] * inverse, rounding) * weight[i], rounding);
  }
  return out;
}

// Calls check(kernels, n, rounding) for all levels, lengths and roundings.
template <typename Check>
void ForAll(const Check& check) {
  for (SimdLevel level : AvailableLevels()) {
    SCOPED_TRACE(SimdLevelName(level));
    for (int64_t n : RowLengths()) {
      for (Rounding rounding : kRoundings) check(KernelsFor(level).row, n, rounding);
    }
  }
}

TEST(RmsNorm, FollowsItsOrderAtAllLevels) {
  ForAll([](const RowKernels& kernels, int64_t n, Rounding rounding) {
    const std::vector<float> x = RandomRow(n, 1, rounding);
    const std::vector<float> weight = RandomRow(n, 2, rounding);
    std::vector<float> out(x.size());
    kernels.rms_norm(x.data(), weight.data(), kEps, n, rounding, out.data());
    ASSERT_EQ(BitsOf(out), BitsOf(ExpectedRmsNorm(x, weight, rounding))) << n;
  });
}

TEST(RmsNorm, IsCloseToTheExactValue) {
  const std::vector<float> x = RandomActivations(1024, 3);
  const std::vector<float> weight(1024, 1.0f);
  std::vector<float> out(1024);
  KernelsFor(DetectSimdLevel())
      .row.rms_norm(x.data(), weight.data(), kEps, 1024, Rounding::kNone, out.data());
  long double squares = 0;
  for (float v : x) squares += static_cast<long double>(v) * v;
  const long double inverse = 1 / std::sqrt(squares / 1024 + kEps);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_LE(UlpError(out[i], x[i] * inverse), 4.0);
}

TEST(AddRmsNorm, AddsRoundsAndNormalizes) {
  ForAll([](const RowKernels& kernels, int64_t n, Rounding rounding) {
    std::vector<float> residual = RandomRow(n, 4, rounding);
    const std::vector<float> delta = RandomRow(n, 5, rounding);
    const std::vector<float> weight = RandomRow(n, 6, rounding);
    std::vector<float> sum(residual.size());
    for (size_t i = 0; i < sum.size(); ++i) sum[i] = Round(residual[i] + delta[i], rounding);
    std::vector<float> out(residual.size());
    kernels.add_rms_norm(residual.data(), delta.data(), weight.data(), kEps, n, rounding,
                         out.data());
    ASSERT_EQ(BitsOf(residual), BitsOf(sum)) << n;
    ASSERT_EQ(BitsOf(out), BitsOf(ExpectedRmsNorm(sum, weight, rounding))) << n;
  });
}

TEST(Add, RoundsOnce) {
  ForAll([](const RowKernels& kernels, int64_t n, Rounding rounding) {
    const std::vector<float> a = RandomRow(n, 7, rounding);
    const std::vector<float> b = RandomRow(n, 8, rounding);
    std::vector<float> out(a.size());
    kernels.add(a.data(), b.data(), n, rounding, out.data());
    for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], Round(a[i] + b[i], rounding));
  });
}

TEST(Rope, RotatesHalves) {
  ForAll([](const RowKernels& kernels, int64_t half, Rounding rounding) {
    const std::vector<float> head = RandomRow(2 * half, 9, rounding);
    const std::vector<float> cos = RandomRow(half, 10, Rounding::kNone);
    const std::vector<float> sin = RandomRow(half, 11, Rounding::kNone);
    std::vector<float> out = head;
    kernels.rope(out.data(), cos.data(), sin.data(), 2 * half, rounding);
    for (size_t i = 0; i < cos.size(); ++i) {
      const float a = head[i], b = head[i + cos.size()];
      ASSERT_EQ(out[i], Round(std::fma(a, cos[i], -(b * sin[i])), rounding));
      ASSERT_EQ(out[i + cos.size()], Round(std::fma(b, cos[i], a * sin[i]), rounding));
    }
  });
}

TEST(SiluMul, IsEqualAtAllLevelsAndAccurate) {
  ForAll([](const RowKernels& kernels, int64_t n, Rounding rounding) {
    const std::vector<float> gate = RandomRow(n, 12, rounding);
    const std::vector<float> up = RandomRow(n, 13, rounding);
    std::vector<float> out(gate.size()), expected(gate.size());
    kernels.silu_mul(gate.data(), up.data(), n, rounding, out.data());
    KernelsFor(SimdLevel::kBaseline)
        .row.silu_mul(gate.data(), up.data(), n, rounding, expected.data());
    ASSERT_EQ(BitsOf(out), BitsOf(expected));
    if (rounding != Rounding::kNone) return;
    for (size_t i = 0; i < out.size(); ++i) {
      const long double silu = gate[i] / (1 + std::exp(-static_cast<long double>(gate[i])));
      if (std::fabs(silu) < 1e-35L) continue;
      ASSERT_LE(UlpError(out[i], silu * up[i]), 4.0) << gate[i];
    }
  });
}

TEST(LogSumExp, IsEqualAtAllLevelsAndAccurate) {
  for (int64_t n : RowLengths()) {
    const std::vector<float> x = RandomActivations(static_cast<size_t>(n), 14);
    long double sum = 0;
    for (float v : x) sum += std::exp(static_cast<long double>(v));
    const float expected = KernelsFor(SimdLevel::kBaseline).row.log_sum_exp(x.data(), n);
    EXPECT_NEAR(expected, static_cast<double>(std::log(sum)), 2e-6 * std::fabs(expected) + 1e-7);
    for (SimdLevel level : AvailableLevels()) {
      EXPECT_EQ(KernelsFor(level).row.log_sum_exp(x.data(), n), expected) << SimdLevelName(level);
    }
  }
}

TEST(LogSumExp, KeepsSpecialValues) {
  for (SimdLevel level : AvailableLevels()) {
    const RowKernels& kernels = KernelsFor(level).row;
    const auto of = [&](std::vector<float> x) {
      return kernels.log_sum_exp(x.data(), static_cast<int64_t>(x.size()));
    };
    EXPECT_EQ(of({-kInfinity, 3.0f, -kInfinity}), 3.0f);
    EXPECT_EQ(of({-kInfinity, -kInfinity}), -kInfinity);
    EXPECT_EQ(of({1.0f, kInfinity}), kInfinity);
    EXPECT_EQ(of({1000.0f}), 1000.0f);
    EXPECT_TRUE(std::isnan(of({1.0f, std::nanf(""), 2.0f})));
  }
}

// Few distinct values, so that there are many ties.
std::vector<float> RowWithTies(int64_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> row(static_cast<size_t>(n));
  for (float& x : row) x = static_cast<float>(random() % 40) - 20.0f;
  return row;
}

TEST(Argmax, TakesTheLowestIndexAmongEquals) {
  for (SimdLevel level : AvailableLevels()) {
    for (int64_t n : RowLengths()) {
      const std::vector<float> x = RowWithTies(n, 15);
      const auto expected = std::max_element(x.begin(), x.end()) - x.begin();
      EXPECT_EQ(KernelsFor(level).row.argmax(x.data(), n), expected) << SimdLevelName(level);
    }
    const std::vector<float> zeros = {-1.0f, -0.0f, 0.0f};
    EXPECT_EQ(KernelsFor(level).row.argmax(zeros.data(), 3), 1);
    const std::vector<float> nans = {std::nanf(""), 2.0f, std::nanf("")};
    EXPECT_EQ(KernelsFor(level).row.argmax(nans.data(), 3), 1);
    const std::vector<float> nothing = {-kInfinity, -kInfinity};
    EXPECT_EQ(KernelsFor(level).row.argmax(nothing.data(), 2), 0);
  }
}

TEST(TopK, SortsByValueThenByIndex) {
  for (SimdLevel level : AvailableLevels()) {
    for (int64_t n : RowLengths()) {
      const std::vector<float> x =
          n % 2 == 0 ? RowWithTies(n, 16) : RandomActivations(static_cast<size_t>(n), 17);
      std::vector<int32_t> order(x.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
      std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
        return x[static_cast<size_t>(a)] > x[static_cast<size_t>(b)];
      });
      for (int k : {1, 2, 5, 20, 64}) {
        std::vector<Candidate> out(64);
        const int num = KernelsFor(level).row.top_k(x.data(), n, k, out.data());
        ASSERT_EQ(num, std::min<int64_t>(k, n));
        for (size_t i = 0; i < static_cast<size_t>(num); ++i) {
          ASSERT_EQ(out[i].id, order[i]) << SimdLevelName(level) << " n=" << n << " k=" << k;
          ASSERT_EQ(out[i].logit, x[static_cast<size_t>(order[i])]);
        }
      }
    }
  }
}

TEST(TopK, LeavesOutNan) {
  const std::vector<float> x = {1.0f, std::nanf(""), -kInfinity, 2.0f};
  for (SimdLevel level : AvailableLevels()) {
    Candidate out[4];
    ASSERT_EQ(KernelsFor(level).row.top_k(x.data(), 4, 4, out), 3);
    EXPECT_EQ(out[0].id, 3);
    EXPECT_EQ(out[1].id, 0);
    EXPECT_EQ(out[2].id, 2);
  }
}

}  // namespace
}  // namespace detcheck::cpu
