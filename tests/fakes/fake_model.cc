#include "tests/fakes/fake_model.h"

#include <algorithm>
#include <cmath>

namespace detcheck {
namespace {

constexpr int kNumCandidates = 8;

// In (0, 1).
double Unit(uint64_t x) {
  return (static_cast<double>(Mix(x) >> 12) + 0.5) * 0x1p-52;
}

}  // namespace

uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

uint64_t FakeModel::Extend(uint64_t state, TokenId token) {
  return Mix(state * 3 + static_cast<uint64_t>(token) + 1);
}

std::vector<TokenCandidate> FakeModel::Candidates(uint64_t state) const {
  std::vector<TokenCandidate> candidates;
  double sum = 0.0;
  for (uint64_t k = 0; k < kNumCandidates; ++k) {
    // Eight bands of the vocabulary, so that no two candidates are one token.
    const auto band = static_cast<uint64_t>(vocab_size_ / kNumCandidates);
    const auto id = static_cast<TokenId>(k * band + Mix(state + k) % band);
    const double logit = 8.0 * Unit(state ^ (k + 1) << 56);
    sum += std::exp(logit);
    candidates.push_back({id, logit});
  }
  for (TokenCandidate& candidate : candidates) {
    candidate.logprob = static_cast<float>(candidate.logprob - std::log(sum));
  }
  std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return a.logprob != b.logprob ? a.logprob > b.logprob : a.id < b.id;
  });
  return candidates;
}

FakeModel::Next FakeModel::Choose(uint64_t state, uint64_t salt, int position,
                                  const Sampling& sampling, int top_logprobs) const {
  const std::vector<TokenCandidate> candidates = Candidates(state ^ salt);
  size_t best = 0;
  if (sampling.temperature > 0.0) {
    double best_score = -INFINITY;
    for (size_t k = 0; k < candidates.size(); ++k) {
      const uint64_t noise = Mix(sampling.seed) + Mix(static_cast<uint64_t>(position)) * 5 +
                             static_cast<uint64_t>(candidates[k].id);
      const double gumbel = -std::log(-std::log(Unit(noise)));
      const double score = candidates[k].logprob / sampling.temperature + gumbel;
      if (score <= best_score) continue;
      best_score = score;
      best = k;
    }
  }
  Next next;
  next.id = candidates[best].id;
  next.logprob.logprob = candidates[best].logprob;
  const int num_top = std::min(top_logprobs, kNumCandidates);
  next.logprob.top.assign(candidates.begin(), candidates.begin() + num_top);
  return next;
}

TokenLogprob FakeModel::LogprobOf(uint64_t state, TokenId token, int top_logprobs) const {
  const std::vector<TokenCandidate> candidates = Candidates(state);
  TokenLogprob logprob;
  logprob.logprob = -30.0;  // of a token that is no candidate
  for (const TokenCandidate& candidate : candidates) {
    if (candidate.id == token) logprob.logprob = candidate.logprob;
  }
  const int num_top = std::min(top_logprobs, kNumCandidates);
  logprob.top.assign(candidates.begin(), candidates.begin() + num_top);
  return logprob;
}

}  // namespace detcheck
