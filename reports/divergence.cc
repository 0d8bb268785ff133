#include "reports/divergence.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace detcheck {
namespace {

// Nats; a larger difference at the first position is hardly rounding.
constexpr double kSuspectDifference = 1.0;

int NumTokens(const Sample& sample) {
  return static_cast<int>(sample.answer->token_ids.size());
}

std::optional<int> FirstTokenDifference(const Sample& a, const Sample& b) {
  const std::vector<TokenId>& ids_a = a.answer->token_ids;
  const std::vector<TokenId>& ids_b = b.answer->token_ids;
  const auto [it_a, it_b] = std::mismatch(ids_a.begin(), ids_a.end(), ids_b.begin(), ids_b.end());
  const int common = static_cast<int>(it_a - ids_a.begin());
  const bool a_ended = it_a == ids_a.end();
  const bool b_ended = it_b == ids_b.end();
  if (!a_ended && !b_ended) return common;
  // One begins the other. An aborted answer might have gone on.
  if ((a_ended && a.IsPrefix()) || (b_ended && b.IsPrefix())) return std::nullopt;
  if (a_ended && b_ended && a.answer->finish_reason == b.answer->finish_reason) {
    return std::nullopt;
  }
  return common;
}

std::optional<TokenId> TokenAt(const Sample& sample, int position) {
  if (position >= NumTokens(sample)) return std::nullopt;
  return sample.answer->token_ids[position];
}

// The logprobs of one position, as far as they can be compared.
class PositionComparison {
 public:
  PositionComparison(const Completion& a, const Completion& b, int position)
      : a_(a), b_(b), position_(position) {
    Look(a.token_ids[position]);
    Look(b.token_ids[position]);
    for (const TokenCandidate& candidate : a.logprobs[position].top) Look(candidate.id);
    for (const TokenCandidate& candidate : b.logprobs[position].top) Look(candidate.id);
  }

  bool differs() const { return differs_; }
  std::optional<double> largest() const { return largest_; }

 private:
  void Look(TokenId id) {
    const std::optional<double> of_a = LogprobOf(a_, position_, id);
    const std::optional<double> of_b = LogprobOf(b_, position_, id);
    if (!of_a || !of_b) {
      differs_ = differs_ || (of_a && BelongsToTop(*of_a, b_)) || (of_b && BelongsToTop(*of_b, a_));
      return;
    }
    differs_ = differs_ || !SameBits(*of_a, *of_b);
    const double difference = std::fabs(*of_a - *of_b);
    if (std::isfinite(difference)) largest_ = std::max(largest_.value_or(0.0), difference);
  }

  // Whether a token of this logprob would have been among the answer's best candidates: where it is
  // not, its logprob is another one there.
  bool BelongsToTop(double logprob, const Completion& answer) const {
    const std::vector<TokenCandidate>& top = answer.logprobs[position_].top;
    return !top.empty() && logprob > top.back().logprob;
  }

  const Completion& a_;
  const Completion& b_;
  const int position_;
  bool differs_ = false;
  std::optional<double> largest_;
};

void CompareLogprobs(const Sample& expected, const Sample& actual, Divergence* divergence) {
  if (!expected.HasTrace() || !actual.HasTrace()) return;
  const int common = std::min(NumTokens(expected), NumTokens(actual));
  // The token at the divergence was still chosen after equal tokens.
  const int end = divergence->index ? std::min(common, *divergence->index + 1) : common;
  for (int i = 0; i < end; ++i) {
    const PositionComparison position(*expected.answer, *actual.answer, i);
    if (position.differs() && !divergence->first_logprob_index) {
      divergence->first_logprob_index = i;
      divergence->suspected_state = position.largest().value_or(0.0) > kSuspectDifference;
    }
    if (position.largest()) {
      divergence->max_logprob_difference =
          std::max(divergence->max_logprob_difference.value_or(0.0), *position.largest());
    }
  }
}

std::optional<double> GapAt(const Sample& sample, int position) {
  if (!sample.HasTrace() || position >= NumTokens(sample)) return std::nullopt;
  const std::vector<TokenCandidate>& top = sample.answer->logprobs[position].top;
  if (top.size() < 2) return std::nullopt;
  const double gap = top[0].logprob - top[1].logprob;
  return std::isfinite(gap) ? std::optional<double>(gap) : std::nullopt;
}

}  // namespace

bool SameBits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

std::optional<double> LogprobOf(const Completion& answer, int position, TokenId id) {
  const auto at = static_cast<size_t>(position);
  if (at >= answer.logprobs.size() || at >= answer.token_ids.size()) return std::nullopt;
  const TokenLogprob& told = answer.logprobs[at];
  if (answer.token_ids[at] == id) return told.logprob;
  for (const TokenCandidate& candidate : told.top) {
    if (candidate.id == id) return candidate.logprob;
  }
  return std::nullopt;
}

Divergence Compare(const Sample& expected, const Sample& actual, int prompt_len) {
  Divergence divergence;
  divergence.expected = expected.ref;
  divergence.actual = actual.ref;
  divergence.by_control = expected.IsControl() && actual.IsControl();
  divergence.index = FirstTokenDifference(expected, actual);
  CompareLogprobs(expected, actual, &divergence);
  if (!divergence.index) return divergence;
  divergence.absolute_position = prompt_len + *divergence.index;
  divergence.expected_token = TokenAt(expected, *divergence.index);
  divergence.actual_token = TokenAt(actual, *divergence.index);
  divergence.gap = GapAt(expected, *divergence.index);
  return divergence;
}

}  // namespace detcheck
