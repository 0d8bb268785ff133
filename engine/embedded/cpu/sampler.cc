#include "engine/embedded/cpu/sampler.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "engine/base/rng.h"
#include "engine/embedded/cpu/det_math.h"

namespace detcheck::cpu {
namespace {

constexpr int kSumLanes = 16;
constexpr int kMostTopK = 64;  // That RowKernels::top_k takes.

struct LargerLogit {
  const float* values;
  bool operator()(TokenId a, TokenId b) const {
    return values[a] > values[b] || (values[a] == values[b] && a < b);
  }
};

// exp((x - max) / temperature) for every id; the buffer is the thread's own.
std::vector<float>& Exponentials(const MathKernels& math, const LogitRow& row, float max,
                                 double temperature) {
  static thread_local std::vector<float> weights;
  weights.resize(static_cast<size_t>(row.vocab_size));
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = row.values[i] - max;
  if (temperature != 1.0) {
    for (float& w : weights) w = static_cast<float>(static_cast<double>(w) / temperature);
  }
  math.exp(weights.data(), weights.data(), row.vocab_size);
  return weights;
}

double SumInLanes(const std::vector<float>& x) {
  double lanes[kSumLanes] = {};
  size_t i = 0;
  for (; i + kSumLanes <= x.size(); i += kSumLanes) {
    for (size_t j = 0; j < kSumLanes; ++j) lanes[j] += static_cast<double>(x[i + j]);
  }
  for (size_t j = 0; i + j < x.size(); ++j) lanes[j] += static_cast<double>(x[i + j]);
  for (size_t half = kSumLanes / 2; half > 0; half /= 2) {
    for (size_t j = 0; j < half; ++j) lanes[j] += lanes[j + half];
  }
  return lanes[0];
}

// Uniform in (0, 1): an odd multiple of 2^-53.
double Uniform(uint64_t seed, int64_t position, TokenId id) {
  const auto p = static_cast<uint64_t>(position);
  const std::array<uint32_t, 4> words = Philox4x32(
      {static_cast<uint32_t>(p), static_cast<uint32_t>(p >> 32), static_cast<uint32_t>(id), 0},
      {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  const uint64_t bits = (uint64_t{words[0]} << 32 | words[1]) >> 12;
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

// The race of exponentials over `ids`, which ascend.
TokenId Race(const std::vector<TokenId>& ids, const std::vector<float>& weights, uint64_t seed,
             int64_t position, TokenId otherwise) {
  TokenId winner = otherwise;
  double best = std::numeric_limits<double>::infinity();
  for (const TokenId id : ids) {
    const double w = static_cast<double>(weights[static_cast<size_t>(id)]);
    const double u = Uniform(seed, position, id);
    if (1.0 - u >= best * w) continue;  // -log(u) is at least 1 - u: it cannot win.
    const double arrival = -DetLogDouble(u) / w;
    if (arrival < best) {
      best = arrival;
      winner = id;
    }
  }
  return winner;
}

// Puts the `count` first of the ranking in front, in order.
void RankFirst(const LogitRow& row, size_t count, std::vector<TokenId>* ids) {
  const LargerLogit larger{row.values};
  const auto end = ids->begin() + static_cast<std::ptrdiff_t>(std::min(count, ids->size()));
  if (end != ids->end()) std::nth_element(ids->begin(), end, ids->end(), larger);
  std::sort(ids->begin(), end, larger);
}

void KeepTopK(const LogitRow& row, int top_k, std::vector<TokenId>* ids) {
  const auto k = static_cast<size_t>(top_k);
  if (k >= ids->size()) return;
  std::nth_element(ids->begin(), ids->begin() + top_k, ids->end(), LargerLogit{row.values});
  ids->resize(k);
  std::sort(ids->begin(), ids->end());
}

// `ids` ascend. The ranking is made only as far as the prefix reaches.
void KeepTopP(const LogitRow& row, const std::vector<float>& weights, double top_p,
              std::vector<TokenId>* ids) {
  double total = 0.0;
  for (const TokenId id : *ids) total += static_cast<double>(weights[static_cast<size_t>(id)]);
  const double wanted = top_p * total;
  for (size_t ranked = 64;; ranked *= 16) {
    RankFirst(row, ranked, ids);
    const size_t end = std::min(ranked, ids->size());
    double sum = 0.0;
    size_t kept = 0;
    while (kept < end && (kept == 0 || sum < wanted)) {
      sum += static_cast<double>(weights[static_cast<size_t>((*ids)[kept++])]);
    }
    if (sum >= wanted || end == ids->size()) {
      ids->resize(kept);
      break;
    }
  }
  std::sort(ids->begin(), ids->end());
}

TokenId DrawId(const KernelTable& kernels, const LogitRow& row, const RowSampling& how) {
  const Sampling& sampling = how.sampling;
  const TokenId largest = kernels.row.argmax(row.values, row.vocab_size);
  if (sampling.temperature == 0.0) return largest;
  const std::vector<float>& weights =
      Exponentials(kernels.math, row, row.values[largest], sampling.temperature);
  static thread_local std::vector<TokenId> ids;
  ids.clear();
  for (TokenId id = 0; id < row.vocab_size; ++id) {
    if (weights[static_cast<size_t>(id)] > 0.0f) ids.push_back(id);
  }
  if (sampling.top_k > 0) KeepTopK(row, sampling.top_k, &ids);
  if (sampling.top_p < 1.0) KeepTopP(row, weights, sampling.top_p, &ids);
  if (sampling.min_p > 0.0) {
    std::erase_if(ids, [&](TokenId id) {
      return static_cast<double>(weights[static_cast<size_t>(id)]) < sampling.min_p;
    });
  }
  return Race(ids, weights, sampling.seed, how.position, largest);
}

// The ids of the `count` largest logits, in order of the ranking.
std::vector<TokenId> Largest(const KernelTable& kernels, const LogitRow& row, int count) {
  std::vector<TokenId> ids;
  if (count <= kMostTopK) {
    std::array<Candidate, kMostTopK> best;
    const int found =
        count == 0 ? 0 : kernels.row.top_k(row.values, row.vocab_size, count, best.data());
    for (int i = 0; i < found; ++i) ids.push_back(best[static_cast<size_t>(i)].id);
    return ids;
  }
  for (TokenId id = 0; id < row.vocab_size; ++id) {
    if (row.values[id] == row.values[id]) ids.push_back(id);
  }
  RankFirst(row, static_cast<size_t>(count), &ids);
  ids.resize(std::min(ids.size(), static_cast<size_t>(count)));
  return ids;
}

}  // namespace

SampledToken SampleRow(const KernelTable& kernels, const LogitRow& row, const RowSampling& how) {
  SampledToken token;
  token.id = DrawId(kernels, row, how);
  if (how.num_top >= 0) token.logprob = LogprobOfRow(kernels, row, token.id, how.num_top);
  return token;
}

TokenLogprob LogprobOfRow(const KernelTable& kernels, const LogitRow& row, TokenId id,
                          int num_top) {
  const float max = row.values[kernels.row.argmax(row.values, row.vocab_size)];
  const double log_sum = DetLogDouble(SumInLanes(Exponentials(kernels.math, row, max, 1.0)));
  const auto logprob = [&](TokenId of) {
    const double centred = static_cast<double>(row.values[of]) - static_cast<double>(max);
    return static_cast<double>(static_cast<float>(centred - log_sum));
  };
  TokenLogprob result;
  result.logprob = logprob(id);
  for (const TokenId top : Largest(kernels, row, num_top))
    result.top.push_back({top, logprob(top)});
  return result;
}

}  // namespace detcheck::cpu
