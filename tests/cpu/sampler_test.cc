#include "engine/embedded/cpu/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "engine/base/rng.h"
#include "engine/embedded/cpu/dispatch.h"

namespace detcheck::cpu {
namespace {

const KernelTable& Kernels() {
  return KernelsFor(DetectSimdLevel());
}

std::vector<float> RandomLogits(int vocab_size, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> logits(static_cast<size_t>(vocab_size));
  for (float& x : logits) x = static_cast<float>(8.0 * rng.Unit() - 4.0);
  return logits;
}

LogitRow Row(const std::vector<float>& logits) {
  return {logits.data(), static_cast<int>(logits.size())};
}

RowSampling At(double temperature, int64_t position, uint64_t seed = 42) {
  RowSampling how;
  how.sampling.temperature = temperature;
  how.sampling.seed = seed;
  how.position = position;
  return how;
}

// The tokens that the filters keep, written out plainly in long double.
std::set<TokenId> NaiveKept(const std::vector<float>& logits, const Sampling& sampling) {
  std::vector<TokenId> ranked(logits.size());
  std::iota(ranked.begin(), ranked.end(), 0);
  std::stable_sort(ranked.begin(), ranked.end(), [&](TokenId a, TokenId b) {
    return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
  });
  const long double max = logits[static_cast<size_t>(ranked[0])];
  const auto weight = [&](TokenId id) {
    return std::exp((static_cast<long double>(logits[static_cast<size_t>(id)]) - max) /
                    static_cast<long double>(sampling.temperature));
  };
  if (sampling.top_k > 0 && static_cast<size_t>(sampling.top_k) < ranked.size()) {
    ranked.resize(static_cast<size_t>(sampling.top_k));
  }
  if (sampling.top_p < 1.0) {
    long double total = 0.0L;
    for (const TokenId id : ranked) total += weight(id);
    long double sum = 0.0L;
    size_t kept = 0;
    while (kept < ranked.size() && (kept == 0 || sum < sampling.top_p * total)) {
      sum += weight(ranked[kept++]);
    }
    ranked.resize(kept);
  }
  std::set<TokenId> result;
  for (const TokenId id : ranked) {
    if (weight(id) >= static_cast<long double>(sampling.min_p)) result.insert(id);
  }
  return result;
}

std::set<TokenId> Drawn(const std::vector<float>& logits, Sampling sampling, int num_draws) {
  std::set<TokenId> drawn;
  RowSampling how;
  how.sampling = sampling;
  for (how.position = 0; how.position < num_draws; ++how.position) {
    drawn.insert(SampleRow(Kernels(), Row(logits), how).id);
  }
  return drawn;
}

TEST(SamplerTest, GreedyTakesTheLargestAndTheLowestOfTies) {
  EXPECT_EQ(SampleRow(Kernels(), Row({1, 3, 2, 3}), At(0, 7)).id, 1);
  EXPECT_EQ(SampleRow(Kernels(), Row({-5, -5, -5}), At(0, 7)).id, 0);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(SampleRow(Kernels(), Row({nan, 1, nan, 2}), At(0, 7)).id, 3);
  EXPECT_EQ(SampleRow(Kernels(), Row({nan, nan}), At(1, 7)).id, 0);
}

TEST(SamplerTest, FiltersKeepWhatANaiveReferenceKeeps) {
  const std::vector<float> logits = RandomLogits(24, 1);
  std::vector<float> tied(16, 1.0f);
  tied[3] = tied[9] = 2.0f;
  for (const auto& [top_k, top_p, min_p] : {std::tuple{5, 1.0, 0.0},
                                            {-1, 0.6, 0.0},
                                            {-1, 1.0, 0.1},
                                            {10, 0.7, 0.05},
                                            {1, 1.0, 0.0},
                                            {-1, 1e-9, 0.0},
                                            {3, 0.999999, 0.0},
                                            {-1, 1.0, 1.0},
                                            {100, 0.9, 0.0}}) {
    for (const std::vector<float>& row : {logits, tied}) {
      Sampling sampling;
      sampling.temperature = 1.5;
      sampling.top_k = top_k;
      sampling.top_p = top_p;
      sampling.min_p = min_p;
      EXPECT_EQ(Drawn(row, sampling, 20000), NaiveKept(row, sampling))
          << top_k << " " << top_p << " " << min_p;
    }
  }
}

TEST(SamplerTest, TopPReachesFarIntoALargeVocabulary) {
  const std::vector<float> flat(5000, 0.5f);
  Sampling sampling;
  sampling.temperature = 1.0;
  sampling.top_p = 0.5;
  const std::set<TokenId> drawn = Drawn(flat, sampling, 3000);
  EXPECT_GT(drawn.size(), 1000u);
  EXPECT_LT(*drawn.rbegin(), 2500);  // Ties are resolved to lower ids.
}

TEST(SamplerTest, DrawsFollowTheSoftmax) {
  const std::vector<float> logits = RandomLogits(8, 2);
  constexpr int kDraws = 40000;
  for (const double temperature : {0.7, 1.0, 3.0}) {
    std::vector<double> counts(logits.size());
    for (int i = 0; i < kDraws; ++i) {
      counts[static_cast<size_t>(SampleRow(Kernels(), Row(logits), At(temperature, i, 3)).id)] += 1;
    }
    double total = 0.0;
    for (const float x : logits) total += std::exp(static_cast<double>(x) / temperature);
    double chi_square = 0.0;
    for (size_t i = 0; i < logits.size(); ++i) {
      const double expected =
          kDraws * std::exp(static_cast<double>(logits[i]) / temperature) / total;
      chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    EXPECT_LT(chi_square, 24.3) << temperature;  // 99.9 % quantile, 7 degrees of freedom.
  }
}

TEST(SamplerTest, SeedsRepeatAndDiffer) {
  const std::vector<float> logits = RandomLogits(1000, 4);
  int num_equal = 0;
  for (int64_t position = 0; position < 200; ++position) {
    const TokenId id = SampleRow(Kernels(), Row(logits), At(1.0, position, 1)).id;
    EXPECT_EQ(SampleRow(Kernels(), Row(logits), At(1.0, position, 1)).id, id);
    num_equal += SampleRow(Kernels(), Row(logits), At(1.0, position, 2)).id == id;
    // A row drawn in between, with other parameters, changes nothing.
    RowSampling other = At(0.3, position, 9);
    other.sampling.top_k = 3;
    SampleRow(Kernels(), Row(RandomLogits(77, 5)), other);
    EXPECT_EQ(SampleRow(Kernels(), Row(logits), At(1.0, position, 1)).id, id);
  }
  EXPECT_LT(num_equal, 10);
}

TEST(SamplerTest, SeedsAbove32BitsAndLargePositionsCount) {
  const std::vector<float> flat(100000, 0.0f);
  const auto draw = [&](int64_t position, uint64_t seed) {
    return SampleRow(Kernels(), Row(flat), At(1.0, position, seed)).id;
  };
  EXPECT_NE(draw(0, 1), draw(0, 1 + (uint64_t{1} << 40)));
  EXPECT_NE(draw(0, 1), draw(int64_t{1} << 40, 1));
}

TEST(SamplerTest, LevelsDrawTheSame) {
  const std::vector<float> logits = RandomLogits(3000, 6);
  for (const SimdLevel level : AvailableLevels()) {
    const KernelTable& kernels = KernelsFor(level);
    for (int64_t position = 0; position < 20; ++position) {
      RowSampling how = At(0.8, position);
      how.sampling.top_p = 0.9;
      how.num_top = 5;
      const SampledToken a = SampleRow(kernels, Row(logits), how);
      const SampledToken b = SampleRow(Kernels(), Row(logits), how);
      EXPECT_EQ(a.id, b.id);
      EXPECT_EQ(a.logprob, b.logprob);
    }
  }
}

TEST(SamplerTest, ExtremeTemperatures) {
  const std::vector<float> logits = RandomLogits(50, 7);
  const TokenId best = SampleRow(Kernels(), Row(logits), At(0, 0)).id;
  for (int64_t position = 0; position < 50; ++position) {
    EXPECT_EQ(SampleRow(Kernels(), Row(logits), At(1e-300, position)).id, best);
  }
  std::set<TokenId> drawn;
  for (int64_t i = 0; i < 2000; ++i) {
    drawn.insert(SampleRow(Kernels(), Row(logits), At(1e300, i)).id);
  }
  EXPECT_EQ(drawn.size(), logits.size());
}

TEST(SamplerTest, LogprobsAgreeWithLongDouble) {
  for (const int vocab_size : {1, 5, 17, 1000, 50000}) {
    const std::vector<float> logits = RandomLogits(vocab_size, 8);
    long double sum = 0.0L;
    for (const float x : logits) sum += std::exp(static_cast<long double>(x));
    for (const TokenId id : {0, vocab_size / 2, vocab_size - 1}) {
      const TokenLogprob actual = LogprobOfRow(Kernels(), Row(logits), id, 0);
      const long double expected =
          static_cast<long double>(logits[static_cast<size_t>(id)]) - std::log(sum);
      EXPECT_NEAR(actual.logprob, static_cast<double>(expected), 2e-6);
      EXPECT_EQ(actual.logprob, static_cast<double>(static_cast<float>(actual.logprob)));
      EXPECT_TRUE(actual.top.empty());
    }
  }
}

TEST(SamplerTest, CandidatesDescendWithTiesByLowestId) {
  const std::vector<float> logits = {1, 4, 2, 4, 3, 2};
  const TokenLogprob result = LogprobOfRow(Kernels(), Row(logits), 2, 5);
  std::vector<TokenId> ids;
  for (const TokenCandidate& candidate : result.top) ids.push_back(candidate.id);
  EXPECT_EQ(ids, (std::vector<TokenId>{1, 3, 4, 2, 5}));
  EXPECT_EQ(result.top[3].logprob, result.logprob);
  EXPECT_EQ(LogprobOfRow(Kernels(), Row(logits), 0, 20).top.size(), logits.size());
  const std::vector<float> many = RandomLogits(300, 9);
  const TokenLogprob hundred = LogprobOfRow(Kernels(), Row(many), 0, 100);
  const TokenLogprob sixty = LogprobOfRow(Kernels(), Row(many), 0, 60);
  ASSERT_EQ(hundred.top.size(), 100u);
  for (size_t i = 0; i < sixty.top.size(); ++i) EXPECT_EQ(hundred.top[i], sixty.top[i]);
}

}  // namespace
}  // namespace detcheck::cpu
