#include "engine/embedded/cuda/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "engine/base/error.h"
#include "engine/embedded/cpu/dispatch.h"
#include "engine/embedded/cpu/sampler.h"
#include "tests/cuda/device_array.h"

namespace detcheck::cuda {
namespace {

using Rows = std::vector<std::vector<float>>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> Joined(const Rows& rows) {
  std::vector<float> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

std::vector<SampledToken> Sample(const Rows& rows, const std::vector<RowSampling>& how) {
  const DeviceArray<float> logits(Joined(rows));
  const Stream stream;
  const auto sampler = MakeSampler(static_cast<int>(rows.size()), static_cast<int>(rows[0].size()));
  return sampler->Sample(logits.data(), how, stream.get());
}

SampledToken CpuSample(const std::vector<float>& row, const RowSampling& how) {
  return cpu::SampleRow(cpu::KernelsFor(cpu::DetectSimdLevel()),
                        {row.data(), static_cast<int>(row.size())}, how);
}

RowSampling Greedy(int num_top) {
  RowSampling how;
  how.num_top = num_top;
  return how;
}

RowSampling Draw(const Sampling& sampling, int64_t position) {
  RowSampling how;
  how.sampling = sampling;
  how.position = position;
  return how;
}

Sampling Filtered(double temperature, int top_k, double top_p, double min_p) {
  Sampling sampling;
  sampling.temperature = temperature;
  sampling.top_k = top_k;
  sampling.top_p = top_p;
  sampling.min_p = min_p;
  return sampling;
}

// Usual rows, and rows with ties, zeros of both signs, infinities and NaN in many places.
Rows OddRows(int vocab_size) {
  const auto v = static_cast<size_t>(vocab_size);
  const std::vector<float> usual = NormalValues(v, 3.0, 1);
  Rows rows(14, usual);
  rows[1] = NormalValues(v, 0.01, 2);
  std::fill(rows[2].begin(), rows[2].end(), -2.5f);
  std::fill(rows[3].begin(), rows[3].end(), kNan);
  std::fill(rows[4].begin(), rows[4].end(), -kInfinity);
  for (size_t i = 0; i < v; ++i) {
    rows[5][i] = std::round(usual[i]);       // Many ties at every rank.
    rows[6][i] = i % 2 == 0 ? 0.0f : -0.0f;  // All equal.
    rows[7][i] = i % 3 == 0 ? kNan : usual[i];
    rows[8][i] = i % 5 == 0 ? usual[i] : -kInfinity;  // As masks leave it.
    rows[9][i] = i == v - 1 ? -1.0f : kNan;
    rows[10][i] = i == v / 2 || i == v - 1 ? kInfinity : usual[i];
    rows[11][i] = i % 2 == 0 ? -kInfinity : kNan;
    rows[12][i] = usual[i] * 1e30f;
    rows[13][i] = i % 7 == 0 ? std::abs(usual[i]) : -std::abs(usual[i]);
  }
  return rows;
}

void ExpectNear(double actual, double expected, const std::string& where) {
  if (std::isnan(expected) || std::isinf(expected)) {
    EXPECT_TRUE(std::isnan(expected) ? std::isnan(actual) : actual == expected)
        << where << ": " << actual << ", expected " << expected;
    return;
  }
  EXPECT_NEAR(actual, expected, 1e-5 * std::max(1.0, std::abs(expected) / 16)) << where;
}

// Ids equal, logprobs within 1e-5, or two steps of float32 where they are below -16: the sums
// behind them are taken in another order.
void ExpectLogprob(const TokenLogprob& actual, const TokenLogprob& expected,
                   const std::string& where) {
  ExpectNear(actual.logprob, expected.logprob, where);
  ASSERT_EQ(actual.top.size(), expected.top.size()) << where;
  for (size_t i = 0; i < expected.top.size(); ++i) {
    ASSERT_EQ(actual.top[i].id, expected.top[i].id) << where << ", candidate " << i;
    ExpectNear(actual.top[i].logprob, expected.top[i].logprob,
               where + ", candidate " + std::to_string(i));
  }
}

// Equal bits, NaN to NaN.
bool IsSame(const SampledToken& a, const SampledToken& b) {
  const auto same = [](double x, double y) { return x == y || (x != x && y != y); };
  bool equal = a.id == b.id && same(a.logprob.logprob, b.logprob.logprob) &&
               a.logprob.top.size() == b.logprob.top.size();
  for (size_t i = 0; equal && i < a.logprob.top.size(); ++i) {
    equal = a.logprob.top[i].id == b.logprob.top[i].id &&
            same(a.logprob.top[i].logprob, b.logprob.top[i].logprob);
  }
  return equal;
}

class CudaSamplerOfVocabulary : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Sizes, CudaSamplerOfVocabulary,
                         testing::Values(1, 2, 31, 1021, 32000, 151936));

TEST_P(CudaSamplerOfVocabulary, GreedyTakesTheCpuEnginesToken) {
  const Rows rows = OddRows(GetParam());
  const std::vector<SampledToken> tokens =
      Sample(rows, std::vector<RowSampling>(rows.size(), Greedy(-1)));
  for (size_t r = 0; r < rows.size(); ++r) {
    EXPECT_EQ(tokens[r].id, CpuSample(rows[r], Greedy(-1)).id) << "row " << r;
    EXPECT_TRUE(tokens[r].logprob.top.empty()) << "row " << r;
  }
}

TEST_P(CudaSamplerOfVocabulary, LogprobsAreTheCpuEngines) {
  const Rows rows = OddRows(GetParam());
  for (const int num_top : {0, 1, 5, 64}) {
    const std::vector<SampledToken> tokens =
        Sample(rows, std::vector<RowSampling>(rows.size(), Greedy(num_top)));
    for (size_t r = 0; r < rows.size(); ++r) {
      const SampledToken expected = CpuSample(rows[r], Greedy(num_top));
      EXPECT_EQ(tokens[r].id, expected.id) << "row " << r;
      ExpectLogprob(tokens[r].logprob, expected.logprob,
                    "row " + std::to_string(r) + ", " + std::to_string(num_top) + " candidates");
    }
  }
}

TEST_P(CudaSamplerOfVocabulary, ScoresAreTheCpuEngines) {
  const Rows rows = OddRows(GetParam());
  std::vector<TokenId> targets;
  for (size_t r = 0; r < rows.size(); ++r) {
    targets.push_back(static_cast<TokenId>(r * 7919 % rows[r].size()));
  }
  const DeviceArray<float> logits(Joined(rows));
  const Stream stream;
  const auto sampler = MakeSampler(static_cast<int>(rows.size()), GetParam());
  for (const int num_top : {0, 20}) {
    const std::vector<TokenLogprob> scores =
        sampler->Score(logits.data(), targets, num_top, stream.get());
    for (size_t r = 0; r < rows.size(); ++r) {
      const auto expected = cpu::LogprobOfRow(cpu::KernelsFor(cpu::DetectSimdLevel()),
                                              {rows[r].data(), GetParam()}, targets[r], num_top);
      ExpectLogprob(scores[r], expected, "row " + std::to_string(r));
    }
  }
}

TEST_P(CudaSamplerOfVocabulary, OddRowsAreDrawnFromAsByTheCpuEngine) {
  const Rows rows = OddRows(GetParam());
  for (const Sampling& sampling : {Filtered(1.0, -1, 1.0, 0.0), Filtered(0.6, 20, 0.95, 0.05)}) {
    const std::vector<SampledToken> tokens =
        Sample(rows, std::vector<RowSampling>(rows.size(), Draw(sampling, 5)));
    for (size_t r = 0; r < rows.size(); ++r) {
      EXPECT_EQ(tokens[r].id, CpuSample(rows[r], Draw(sampling, 5)).id)
          << "row " << r << ", temperature " << sampling.temperature;
    }
  }
}

// Draws `num_draws` tokens of one row, 100 at a time, and counts those that are not the CPU's.
int CountDiffering(const std::vector<float>& row, const Sampling& sampling, int num_draws) {
  constexpr int kAtOnce = 100;
  const auto vocab_size = static_cast<int>(row.size());
  const DeviceArray<float> logits(Joined(Rows(kAtOnce, row)));
  const Stream stream;
  const auto sampler = MakeSampler(kAtOnce, vocab_size);
  int num_differing = 0;
  for (int first = 0; first < num_draws; first += kAtOnce) {
    std::vector<RowSampling> how;
    for (int i = first; i < first + kAtOnce; ++i) how.push_back(Draw(sampling, i));
    const std::vector<SampledToken> tokens = sampler->Sample(logits.data(), how, stream.get());
    for (size_t i = 0; i < how.size(); ++i) {
      num_differing += tokens[i].id != CpuSample(row, how[i]).id;
    }
  }
  return num_differing;
}

// Weights, noise and arrivals have the CPU's bits, and top_k and min_p its exact rule. Only top_p
// may keep one token more or less, where its sum comes within rounding of the share: then a draw in
// thousands differs.
TEST(CudaSampler, DrawsAreTheCpuEnginesWithEveryFilter) {
  const std::vector<float> row = NormalValues(3001, 3.0, 21);
  for (const Sampling& sampling :
       {Filtered(1.0, -1, 1.0, 0.0), Filtered(0.7, -1, 1.0, 0.0), Filtered(1.0, 50, 1.0, 0.0),
        Filtered(1.3, -1, 0.9, 0.0), Filtered(1.0, -1, 1.0, 0.02), Filtered(0.8, 40, 0.95, 0.01),
        Filtered(2.0, 1000, 0.5, 0.0), Filtered(0.05, -1, 0.999, 0.0)}) {
    const bool is_exact = sampling.top_p == 1.0;
    EXPECT_LE(CountDiffering(row, sampling, 2000), is_exact ? 0 : 2)
        << "temperature " << sampling.temperature << ", top_k " << sampling.top_k << ", top_p "
        << sampling.top_p << ", min_p " << sampling.min_p;
  }
}

TEST(CudaSampler, DrawsFromALargeVocabulary) {
  const std::vector<float> row = NormalValues(151936, 2.5, 22);
  EXPECT_EQ(CountDiffering(row, Filtered(1.0, -1, 1.0, 0.0), 100), 0);
  EXPECT_LE(CountDiffering(row, Filtered(0.9, 5000, 0.95, 0.0), 100), 1);
}

// Thousands of equal logits fill one coarse bin: the ranking is then cut by ids.
TEST(CudaSampler, FiltersCutThroughTies) {
  const size_t vocab_size = 50000;
  std::vector<float> flat(vocab_size, 0.5f);
  EXPECT_EQ(CountDiffering(flat, Filtered(1.0, 3001, 1.0, 0.0), 200), 0);
  EXPECT_EQ(CountDiffering(flat, Filtered(1.0, -1, 0.5, 0.0), 200), 0);
  for (size_t i = 0; i < vocab_size; i += 2) flat[i] = -100.0f;  // In the last bin.
  EXPECT_EQ(CountDiffering(flat, Filtered(1.0, 30000, 1.0, 0.0), 200), 0);
  EXPECT_EQ(CountDiffering(flat, Filtered(1e300, 26000, 1.0, 0.0), 200), 0);
  EXPECT_EQ(CountDiffering(flat, Filtered(1e300, -1, 0.75, 0.0), 200), 0);
}

TEST(CudaSampler, CandidatesFarBelowTheBest) {
  std::vector<float> row = NormalValues(20000, 1.0, 23);
  row[777] = 500.0f;
  for (const int num_top : {2, 64, 1000}) {
    const SampledToken token = Sample({row}, {Greedy(num_top)})[0];
    ExpectLogprob(token.logprob, CpuSample(row, Greedy(num_top)).logprob, "peaked row");
  }
}

TEST(CudaSampler, ExtremeTemperaturesSeedsAndPositions) {
  const std::vector<float> row = NormalValues(500, 2.0, 24);
  for (const double temperature : {1e-300, 1e-40, 1e-3, 100.0, 1e300}) {
    EXPECT_EQ(CountDiffering(row, Filtered(temperature, -1, 1.0, 0.0), 100), 0) << temperature;
    EXPECT_LE(CountDiffering(row, Filtered(temperature, 30, 0.9, 0.0), 100), 1) << temperature;
  }
  RowSampling how = Draw(Filtered(1.0, -1, 1.0, 0.0), int64_t{1} << 40);
  how.sampling.seed = (uint64_t{1} << 53) - 1;
  EXPECT_EQ(Sample({row}, {how})[0].id, CpuSample(row, how).id);
}

std::vector<RowSampling> MixedSettings(size_t count) {
  std::vector<RowSampling> how;
  for (size_t i = 0; i < count; ++i) {
    const Sampling settings[] = {{}, Filtered(0.7, -1, 1.0, 0.0), Filtered(1.0, 20, 0.9, 0.01)};
    how.push_back(Draw(settings[i % 3], static_cast<int64_t>(i)));
    how.back().num_top = static_cast<int>(i % 4) * 7 - 1;  // -1, 6, 13, 20
  }
  return how;
}

// In a batch of 1 a row is shared by many more CTAs than in one of 128.
TEST(CudaSampler, ARowGetsTheSameBitsInAnyBatch) {
  for (const int vocab_size : {31, 4099, 151936}) {
    const Rows odd = OddRows(vocab_size);
    const std::vector<RowSampling> how = MixedSettings(odd.size());
    std::vector<SampledToken> alone;
    for (size_t r = 0; r < odd.size(); ++r) {
      alone.push_back(Sample({odd[r]}, {how[r]})[0]);
      EXPECT_TRUE(IsSame(Sample({odd[r]}, {how[r]})[0], alone[r])) << "row " << r << " repeated";
    }
    Rows batch;
    std::vector<RowSampling> batch_how;
    for (size_t i = 0; i < 3 * odd.size(); ++i) {
      batch.push_back(odd[i * 5 % odd.size()]);
      batch_how.push_back(how[i * 5 % odd.size()]);
    }
    const std::vector<SampledToken> together = Sample(batch, batch_how);
    for (size_t i = 0; i < together.size(); ++i) {
      const size_t r = i * 5 % odd.size();
      EXPECT_TRUE(IsSame(together[i], alone[r]))
          << "row " << r << " in slot " << i << ", V " << vocab_size << ": token " << together[i].id
          << ", alone " << alone[r].id;
    }
  }
}

TEST(CudaSampler, DrawsFollowTheSoftmax) {
  constexpr size_t kVocabSize = 8;
  constexpr int kAtOnce = 1000;
  constexpr int kDraws = 20000;
  const std::vector<float> row = NormalValues(kVocabSize, 1.0, 25);
  const DeviceArray<float> logits(Joined(Rows(kAtOnce, row)));
  const Stream stream;
  const auto sampler = MakeSampler(kAtOnce, kVocabSize);
  for (const double temperature : {0.7, 1.0, 3.0}) {
    std::vector<double> counts(kVocabSize);
    for (int first = 0; first < kDraws; first += kAtOnce) {
      std::vector<RowSampling> how;
      for (int i = first; i < first + kAtOnce; ++i) {
        how.push_back(Draw(Filtered(temperature, -1, 1.0, 0.0), i));
      }
      for (const SampledToken& token : sampler->Sample(logits.data(), how, stream.get())) {
        counts[static_cast<size_t>(token.id)] += 1;
      }
    }
    double total = 0.0;
    for (const float x : row) total += std::exp(static_cast<double>(x) / temperature);
    double chi_square = 0.0;
    for (size_t i = 0; i < kVocabSize; ++i) {
      const double expected = kDraws * std::exp(static_cast<double>(row[i]) / temperature) / total;
      chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    EXPECT_LT(chi_square, 24.3) << temperature;  // 99.9 % quantile, 7 degrees of freedom.
  }
}

TEST(CudaSampler, RefusesMoreThanItHasRoomFor) {
  const DeviceArray<float> logits(std::vector<float>(20, 0.0f));
  const Stream stream;
  const auto sampler = MakeSampler(1, 10);
  const std::vector<RowSampling> two(2);
  EXPECT_THROW(sampler->Sample(logits.data(), two, stream.get()), Error);
  try {
    sampler->Sample(logits.data(), std::vector<RowSampling>{Greedy(1001)}, stream.get());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_STREQ(error.what(), "CUDA: 1001 top logprobs: at most 1000");
  }
  EXPECT_TRUE(sampler->Sample(logits.data(), {}, stream.get()).empty());
  EXPECT_TRUE(sampler->Score(logits.data(), {}, 5, stream.get()).empty());
}

}  // namespace
}  // namespace detcheck::cuda
