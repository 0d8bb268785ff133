#include "engine/embedded/cpu/gemm.h"

#include "engine/base/error.h"
#include "tests/cpu/kernel_testing.h"

namespace detcheck::cpu {
namespace {

struct Problem {
  Problem(int64_t max_rows, int64_t num_cols, int64_t depth)
      : m(max_rows),
        n(num_cols),
        k(depth),
        x(RandomActivations(static_cast<size_t>(m * k), 1)),
        w_bits(static_cast<size_t>(n * k)),
        w(w_bits.size()),
        float32(n, k, WeightFormat::kFloat32),
        bf16(n, k, WeightFormat::kBf16) {
    const std::vector<float> values = RandomActivations(w.size(), 2);
    for (size_t i = 0; i < w.size(); ++i) {
      w_bits[i] = FloatToBf16(values[i]);
      w[i] = Bf16ToFloat(w_bits[i]);
    }
    ThreadPool pool(2);
    float32.SetRowsFloat(pool, 0, n, w.data());
    bf16.SetRowsBf16(pool, 0, n, w_bits.data());
  }

  // The chain that Gemm promises, by definition.
  float Element(int64_t row, int64_t col) const {
    float sum = 0;
    for (int64_t i = 0; i < k; ++i) {
      sum = std::fma(x[static_cast<size_t>(row * k + i)], w[static_cast<size_t>(col * k + i)], sum);
    }
    return sum;
  }

  std::vector<float> Multiply(SimdLevel level, ThreadPool& pool, const PackedMatrix& weights,
                              int64_t first_row, int64_t num_rows,
                              Rounding rounding = Rounding::kNone) const {
    std::vector<float> out(static_cast<size_t>(num_rows * n), -1.0f);
    GemmWorkspace workspace;
    Gemm(KernelsFor(level), pool, x.data() + first_row * k, num_rows, weights, rounding, out.data(),
         workspace);
    return out;
  }

  // Row `row` of a product, as bits.
  std::vector<uint32_t> RowBits(const std::vector<float>& out, int64_t row) const {
    return BitsOf(std::vector<float>(out.begin() + row * n, out.begin() + (row + 1) * n));
  }

  int64_t m, n, k;
  std::vector<float> x;
  std::vector<uint16_t> w_bits;
  std::vector<float> w;
  PackedMatrix float32;
  PackedMatrix bf16;
};

TEST(Gemm, IsOneFmaChainPerElement) {
  ThreadPool pool(2);
  for (int64_t k : {1, 3, 16, 511, 512, 513, 1100}) {
    const Problem problem(17, 77, k);
    std::vector<float> expected;
    for (int64_t row = 0; row < problem.m; ++row) {
      for (int64_t col = 0; col < problem.n; ++col) expected.push_back(problem.Element(row, col));
    }
    for (SimdLevel level : AvailableLevels()) {
      const auto out = problem.Multiply(level, pool, problem.float32, 0, problem.m);
      ASSERT_EQ(BitsOf(out), BitsOf(expected)) << SimdLevelName(level) << " K=" << k;
    }
  }
}

TEST(Gemm, RowBitsDoNotDependOnBatch) {
  ThreadPool pool(2);
  const Problem problem(70, 100, 600);
  for (SimdLevel level : AvailableLevels()) {
    const auto alone = problem.Multiply(level, pool, problem.float32, 0, 1);
    for (int64_t m = 2; m <= 70; ++m) {
      const auto batch = problem.Multiply(level, pool, problem.float32, 0, m);
      ASSERT_EQ(problem.RowBits(batch, 0), BitsOf(alone)) << SimdLevelName(level) << " M=" << m;
    }
  }
}

TEST(Gemm, RowBitsDoNotDependOnALargeBatch) {
  ThreadPool pool(2);
  const Problem problem(1100, 70, 530);
  const SimdLevel level = DetectSimdLevel();
  const auto batch = problem.Multiply(level, pool, problem.float32, 0, 1100);
  const auto smaller_batch = problem.Multiply(level, pool, problem.float32, 0, 1024);
  for (int64_t row : {0, 1, 13, 14, 500, 511, 512, 513, 1023}) {
    const auto alone = problem.Multiply(level, pool, problem.float32, row, 1);
    EXPECT_EQ(problem.RowBits(batch, row), BitsOf(alone)) << row;
    EXPECT_EQ(problem.RowBits(smaller_batch, row), BitsOf(alone)) << row;
  }
}

TEST(Gemm, RowBitsDoNotDependOnThePlaceInTheBatch) {
  ThreadPool pool(2);
  const Problem problem(40, 64, 300);
  for (SimdLevel level : AvailableLevels()) {
    const auto batch = problem.Multiply(level, pool, problem.float32, 0, 40);
    for (int64_t row = 0; row < 40; ++row) {
      const auto alone = problem.Multiply(level, pool, problem.float32, row, 1);
      ASSERT_EQ(problem.RowBits(batch, row), BitsOf(alone)) << SimdLevelName(level) << " " << row;
    }
    const auto shifted = problem.Multiply(level, pool, problem.float32, 3, 30);
    ASSERT_EQ(problem.RowBits(shifted, 5), problem.RowBits(batch, 8)) << SimdLevelName(level);
  }
}

TEST(Gemm, BitsDoNotDependOnThreads) {
  const Problem problem(33, 200, 600);
  for (SimdLevel level : AvailableLevels()) {
    ThreadPool single(1);
    const auto row = problem.Multiply(level, single, problem.float32, 0, 1);
    const auto batch = problem.Multiply(level, single, problem.float32, 0, 33);
    for (int num_threads = 2; num_threads <= 8; ++num_threads) {
      ThreadPool pool(num_threads);
      ASSERT_EQ(problem.Multiply(level, pool, problem.float32, 0, 1), row);
      ASSERT_EQ(problem.Multiply(level, pool, problem.float32, 0, 33), batch);
    }
  }
}

TEST(Gemm, BitsDoNotDependOnTheWeightFormatOrTheLevel) {
  ThreadPool pool(2);
  const Problem problem(31, 97, 1030);
  for (int64_t m : {1, 2, 13, 14, 15, 31}) {
    const auto expected = problem.Multiply(SimdLevel::kBaseline, pool, problem.float32, 0, m);
    for (SimdLevel level : AvailableLevels()) {
      ASSERT_EQ(problem.Multiply(level, pool, problem.float32, 0, m), expected) << m;
      ASSERT_EQ(problem.Multiply(level, pool, problem.bf16, 0, m), expected) << m;
    }
  }
}

TEST(Gemm, RoundsOnceAtTheEnd) {
  ThreadPool pool(2);
  const Problem problem(20, 50, 1030);
  for (SimdLevel level : AvailableLevels()) {
    const MathKernels& math = KernelsFor(level).math;
    for (int64_t m : {1, 5, 20}) {
      auto expected = problem.Multiply(level, pool, problem.float32, 0, m);
      const int64_t size = static_cast<int64_t>(expected.size());
      std::vector<float> f16 = expected;
      math.round_bf16(expected.data(), expected.data(), size);
      math.round_f16(f16.data(), f16.data(), size);
      EXPECT_EQ(problem.Multiply(level, pool, problem.bf16, 0, m, Rounding::kBf16), expected);
      EXPECT_EQ(BitsOf(problem.Multiply(level, pool, problem.bf16, 0, m, Rounding::kF16)),
                BitsOf(f16));
    }
  }
}

TEST(Gemm, WritesNothingBesidesItsOutput) {
  ThreadPool pool(2);
  const Problem problem(16, 45, 40);
  for (SimdLevel level : AvailableLevels()) {
    for (int64_t m : {1, 3, 16}) {
      std::vector<float> out(static_cast<size_t>(m * problem.n) + 64, 42.0f);
      GemmWorkspace workspace;
      Gemm(KernelsFor(level), pool, problem.x.data(), m, problem.float32, Rounding::kNone,
           out.data(), workspace);
      for (size_t i = static_cast<size_t>(m * problem.n); i < out.size(); ++i) {
        ASSERT_EQ(out[i], 42.0f);
      }
    }
  }
}

TEST(PackedMatrix, KeepsEveryRow) {
  ThreadPool pool(2);
  const Problem problem(1, 77, 50);
  std::vector<float> row(50);
  for (int64_t i = 0; i < 77; ++i) {
    const std::vector<float> expected(problem.w.begin() + i * 50, problem.w.begin() + (i + 1) * 50);
    problem.float32.CopyRow(i, row.data());
    ASSERT_EQ(row, expected) << i;
    problem.bf16.CopyRow(i, row.data());
    ASSERT_EQ(row, expected) << i;
  }
}

TEST(PackedMatrix, IsTheSameWhenBuiltFromParts) {
  ThreadPool pool(2);
  const Problem problem(1, 77, 50);
  PackedMatrix parts(77, 50, WeightFormat::kBf16);
  for (const auto& [first, num] : {std::pair<int64_t, int64_t>{40, 37}, {0, 5}, {5, 35}}) {
    parts.SetRowsBf16(pool, first, num, problem.w_bits.data() + first * 50);
  }
  const auto whole = problem.Multiply(SimdLevel::kBaseline, pool, problem.bf16, 0, 1);
  EXPECT_EQ(problem.Multiply(SimdLevel::kBaseline, pool, parts, 0, 1), whole);
}

TEST(PackedMatrix, TakesHalfPrecisionExactly) {
  ThreadPool pool(2);
  const std::vector<uint16_t> bits = {0x3c00, 0x0001, 0xfbff, 0x8000, 0x3555, 0x03ff};
  PackedMatrix matrix(2, 3, WeightFormat::kFloat32);
  matrix.SetRowsF16(pool, 0, 2, bits.data());
  std::vector<float> row(3);
  matrix.CopyRow(1, row.data());
  EXPECT_THAT(row,
              testing::ElementsAre(F16ToFloat(0x8000), F16ToFloat(0x3555), F16ToFloat(0x03ff)));
}

TEST(PackedMatrix, RefusesWhatItCannotHold) {
  ThreadPool pool(1);
  const std::vector<float> row(4);
  const std::vector<uint16_t> half(4);
  PackedMatrix matrix(2, 4, WeightFormat::kBf16);
  EXPECT_THROW(matrix.SetRowsFloat(pool, 0, 1, row.data()), Error);
  EXPECT_THROW(matrix.SetRowsF16(pool, 0, 1, half.data()), Error);
  EXPECT_THROW(matrix.SetRowsBf16(pool, 2, 1, half.data()), Error);
}

}  // namespace
}  // namespace detcheck::cpu
