#include "reports/divergence.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "reports/token_identity.h"

namespace detcheck {
namespace {

// Nats; a larger difference at the first position is hardly rounding.
constexpr double kSuspectDifference = 1.0;

int NumIds(const Sample& sample) {
  return static_cast<int>(sample.answer->token_ids.size());
}

// Where the token IDs or texts of the two first differ.
template <typename Output>
std::optional<int> FirstDifference(const Sample& a, const Output& output_a, const Sample& b,
                                   const Output& output_b) {
  const auto [it_a, it_b] =
      std::mismatch(output_a.begin(), output_a.end(), output_b.begin(), output_b.end());
  const int common = static_cast<int>(it_a - output_a.begin());
  const bool a_ended = it_a == output_a.end();
  const bool b_ended = it_b == output_b.end();
  if (!a_ended && !b_ended) return common;
  // One begins the other. An aborted answer might have gone on.
  if ((a_ended && a.IsPrefix()) || (b_ended && b.IsPrefix())) return std::nullopt;
  if (a_ended && b_ended && a.answer->finish_reason == b.answer->finish_reason) {
    return std::nullopt;
  }
  return common;
}

std::optional<TokenId> TokenAt(const Sample& sample, int position) {
  if (position >= NumIds(sample)) return std::nullopt;
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

// Where the next logprob of equal tokens differs by `difference`.
void NoteLogprobs(int position, bool differs, std::optional<double> difference,
                  Divergence* divergence) {
  if (differs && !divergence->first_logprob_index) {
    divergence->first_logprob_index = position;
    divergence->suspected_state = difference.value_or(0.0) > kSuspectDifference;
  }
  if (difference) {
    divergence->max_logprob_difference =
        std::max(divergence->max_logprob_difference.value_or(0.0), *difference);
  }
}

// Without token IDs: of the tokens whose bytes are equal, up to the first that differs.
void CompareLogprobsByText(const Completion& expected, const Completion& actual,
                           Divergence* divergence) {
  const size_t common = std::min({expected.token_bytes.size(), actual.token_bytes.size(),
                                  expected.logprobs.size(), actual.logprobs.size()});
  for (size_t i = 0; i < common && expected.token_bytes[i] == actual.token_bytes[i]; ++i) {
    const double a = expected.logprobs[i].logprob;
    const double b = actual.logprobs[i].logprob;
    const double difference = std::fabs(a - b);
    NoteLogprobs(static_cast<int>(i), !SameBits(a, b),
                 std::isfinite(difference) ? std::optional(difference) : std::nullopt, divergence);
  }
}

void CompareLogprobs(const Sample& expected, const Sample& actual, Divergence* divergence) {
  if (!expected.HasTrace() || !actual.HasTrace()) return;
  const int common = std::min(NumIds(expected), NumIds(actual));
  // The token at the divergence was still chosen after equal tokens.
  const int end = divergence->index ? std::min(common, *divergence->index + 1) : common;
  for (int i = 0; i < end; ++i) {
    const PositionComparison position(*expected.answer, *actual.answer, i);
    NoteLogprobs(i, position.differs(), position.largest(), divergence);
  }
}

std::optional<double> GapAt(const Sample& sample, int position) {
  if (!sample.HasTrace() || position >= NumIds(sample)) return std::nullopt;
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
  if (IdentityOf(*expected.answer, *actual.answer) == TokenIdentity::kText) {
    if (expected.answer->text && actual.answer->text) {
      divergence.text_offset =
          FirstDifference(expected, *expected.answer->text, actual, *actual.answer->text);
    }
    CompareLogprobsByText(*expected.answer, *actual.answer, &divergence);
    return divergence;
  }
  divergence.index =
      FirstDifference(expected, expected.answer->token_ids, actual, actual.answer->token_ids);
  CompareLogprobs(expected, actual, &divergence);
  if (!divergence.index) return divergence;
  divergence.absolute_position = prompt_len + *divergence.index;
  divergence.expected_token = TokenAt(expected, *divergence.index);
  divergence.actual_token = TokenAt(actual, *divergence.index);
  divergence.gap = GapAt(expected, *divergence.index);
  return divergence;
}

}  // namespace detcheck
