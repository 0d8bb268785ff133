#include "engine/remote/remote_witness.h"

#include <fmt/format.h>

#include <algorithm>

namespace detcheck {
namespace {

/// Requests that were under way at some time between `begin_s` and `end_s`.
int UnderWay(const std::vector<RequestSpan>& spans, double begin_s, double end_s) {
  return static_cast<int>(std::count_if(spans.begin(), spans.end(), [&](const RequestSpan& span) {
    return span.sent_s && *span.sent_s <= end_s && span.ended_s >= begin_s;
  }));
}

/// Requests between their first and their last token at that moment.
int Decoding(const std::vector<RequestSpan>& spans, double at_s) {
  return static_cast<int>(std::count_if(spans.begin(), spans.end(), [&](const RequestSpan& span) {
    return span.first_token_s && *span.first_token_s <= at_s && *span.last_token_s >= at_s;
  }));
}

std::optional<int> FormedByCounters(const RequestSpan& span, const std::vector<RequestSpan>& spans,
                                    const std::vector<TimedLoad>& loads) {
  std::optional<int> formed;
  for (const TimedLoad& timed : loads) {
    const bool within = span.first_token_s && timed.begin_s >= *span.first_token_s &&
                        timed.end_s <= *span.last_token_s;
    // Who does not see even this request is late.
    if (!within || timed.load.running.value_or(0) < 1) continue;
    const int most = UnderWay(spans, timed.begin_s, timed.end_s);
    formed = std::max(formed.value_or(0), std::min(*timed.load.running, most));
  }
  return formed;
}

int FormedByOverlap(const RequestSpan& span, const std::vector<RequestSpan>& spans) {
  int formed = 1;
  for (const RequestSpan& other : spans) {
    // Overlaps begin where one of the requests has its first token.
    if (!other.first_token_s || *other.first_token_s < *span.first_token_s ||
        *other.first_token_s > *span.last_token_s) {
      continue;
    }
    formed = std::max(formed, Decoding(spans, *other.first_token_s));
  }
  return formed;
}

/// Tokens that all spans received.
double NumTokens(const std::vector<RequestSpan>& spans) {
  double sum = 0.0;
  for (const RequestSpan& span : spans) sum += span.num_tokens;
  return sum;
}

/// 0 where the steps show nothing: they are not even as many as one of the requests has tokens.
int FormedBySteps(const RequestSpan& span, const std::vector<RequestSpan>& spans, int token_steps) {
  std::vector<int> others;
  for (const RequestSpan& other : spans) {
    if (&other != &span) others.push_back(other.num_tokens);
  }
  std::sort(others.rbegin(), others.rend());
  const int longest = std::max(span.num_tokens, others.empty() ? 0 : others.front());
  if (token_steps < longest) return 0;
  int formed = 1;
  int shortest = span.num_tokens;  // of those that share a step
  for (const int tokens : others) {
    if (tokens + shortest <= token_steps) break;
    shortest = std::min(shortest, tokens);
    ++formed;
  }
  return formed;
}

/// Formed size and its source, of a request that has a token.
void WitnessFormedSize(const RequestSpan& span, const std::vector<RequestSpan>& spans,
                       const std::vector<TimedLoad>& loads, std::optional<int> token_steps,
                       Witness* witness) {
  const std::optional<int> told = FormedByCounters(span, spans, loads);
  const int by_steps = token_steps ? FormedBySteps(span, spans, *token_steps) : 0;
  const bool none_shared = by_steps > 0 && *token_steps >= NumTokens(spans);
  const int overlap = FormedByOverlap(span, spans);
  if (told || none_shared || by_steps >= overlap) {
    witness->source = WitnessSource::kServer;
    witness->formed_size = std::max(told.value_or(0), by_steps);
  } else {
    witness->source = WitnessSource::kClientOverlap;
    witness->formed_size = overlap;
  }
}

/// Most prompt tokens of one neighbour that were prefilled while the request decoded.
int PrefillBeside(const RequestSpan& span, const std::vector<RequestSpan>& spans) {
  int most = 0;
  for (const RequestSpan& other : spans) {
    if (&other == &span || !other.sent_s || !other.first_token_s || !other.prompt_tokens) continue;
    if (*other.sent_s <= *span.first_token_s || *other.first_token_s >= *span.last_token_s)
      continue;
    most = std::max(most, *other.prompt_tokens - other.cached_tokens.value_or(0));
  }
  return most;
}

}  // namespace

std::vector<Witness> WitnessRequests(const std::vector<RequestSpan>& spans,
                                     const std::vector<TimedLoad>& loads,
                                     std::optional<int> token_steps) {
  std::vector<Witness> witnesses;
  for (size_t i = 0; i < spans.size(); ++i) {
    const RequestSpan& span = spans[i];
    Witness witness;
    witness.slot = static_cast<int>(i);
    witness.cached_tokens = span.cached_tokens;
    if (span.cached_tokens) witness.source = WitnessSource::kServer;
    if (span.first_token_s) {
      WitnessFormedSize(span, spans, loads, token_steps, &witness);
      witness.interleaved_prefill_tokens = PrefillBeside(span, spans);
    }
    witnesses.push_back(std::move(witness));
  }
  return witnesses;
}

bool FormedTogether(const LoadSample& before, const LoadSample& after, int num_requests) {
  if (!before.batches || !before.batched || !after.batches || !after.batched) return false;
  return *after.batches - *before.batches == 1.0 &&
         *after.batched - *before.batched == static_cast<double>(num_requests);
}

std::optional<int> TokenStepsBetween(const std::vector<RequestSpan>& spans,
                                     const LoadSample& before, const LoadSample& after) {
  if (!before.token_steps || !after.token_steps || !before.generated || !after.generated) {
    return std::nullopt;
  }
  if (*after.generated - *before.generated < NumTokens(spans)) return std::nullopt;
  if (PreemptionsBetween(before, after).value_or(0) > 0) return std::nullopt;
  return static_cast<int>(*after.token_steps - *before.token_steps);
}

std::optional<int> PreemptionsBetween(const LoadSample& before, const LoadSample& after) {
  if (!before.preempted || !after.preempted) return std::nullopt;
  return std::max(0, static_cast<int>(*after.preempted - *before.preempted));
}

std::string OthersTraffic(const std::vector<RequestSpan>& spans, const LoadSample& before,
                          const std::vector<TimedLoad>& loads, const LoadSample& after,
                          bool exact) {
  const int ours = static_cast<int>(spans.size());
  for (const TimedLoad& timed : loads) {
    if (timed.load.total.value_or(0) <= ours) continue;
    return fmt::format("others use the server: {} requests running or waiting, {} of this step",
                       *timed.load.total, ours);
  }
  if (after.total.value_or(0) > 0) {
    return fmt::format("others use the server: {} requests running or waiting after the step",
                       *after.total);
  }
  if (!exact || !before.generated || !after.generated) return "";
  const double answered = NumTokens(spans);
  const double generated = *after.generated - *before.generated;
  if (generated < 0.0) return "the server's counters ran backwards: it was started again";
  if (generated <= answered) return "";
  return fmt::format("others use the server: it generated {:.0f} tokens, {:.0f} of this step",
                     generated, answered);
}

}  // namespace detcheck
