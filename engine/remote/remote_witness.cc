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
int NumTokens(const std::vector<RequestSpan>& spans) {
  int sum = 0;
  for (const RequestSpan& span : spans) sum += span.num_tokens;
  return sum;
}

/// Whether a look told that as many ran as there are, with all of them under way.
bool AllRan(const std::vector<RequestSpan>& spans, const std::vector<TimedLoad>& loads) {
  return std::any_of(loads.begin(), loads.end(), [&spans](const TimedLoad& timed) {
    if (timed.load.counts_starting || timed.load.running.value_or(0) < std::ssize(spans))
      return false;
    return std::all_of(spans.begin(), spans.end(), [&timed](const RequestSpan& span) {
      return span.sent_s && *span.sent_s <= timed.begin_s && span.ended_s >= timed.end_s;
    });
  });
}

/// Tokens of all spans but one.
std::vector<int> TokensOfOthers(const RequestSpan& span, const std::vector<RequestSpan>& spans) {
  std::vector<int> others;
  for (const RequestSpan& other : spans) {
    if (&other != &span) others.push_back(other.num_tokens);
  }
  std::sort(others.begin(), others.end());
  return others;
}

/// 0 where the steps show nothing: they are not even as many as one of the requests has tokens.
int FormedBySteps(const RequestSpan& span, const std::vector<RequestSpan>& spans, int num_steps) {
  const std::vector<int> others = TokensOfOthers(span, spans);
  const int longest = std::max(span.num_tokens, others.empty() ? 0 : others.back());
  if (num_steps < longest) return 0;
  int formed = 1;
  int shortest = span.num_tokens;  // of those that share a step
  for (auto tokens = others.rbegin(); tokens != others.rend(); ++tokens) {
    if (*tokens + shortest <= num_steps) break;
    shortest = std::min(shortest, *tokens);
    ++formed;
  }
  return formed;
}

/// The most requests that can have shared one step, this one among them. Those that do take at most
/// as many steps as the two longest of them have tokens, less the shared one; the others at most
/// one step for each token.
int RoomInSteps(const RequestSpan& span, const std::vector<RequestSpan>& spans,
                const TokenSteps& steps) {
  const int num_spans = static_cast<int>(spans.size());
  if (steps.num_tokens != NumTokens(spans)) {
    // Not all were received: what can be told is whether any step was shared.
    return steps.num_steps < steps.num_tokens ? num_spans : 1;
  }
  const std::vector<int> others = TokensOfOthers(span, spans);
  int most = 1;
  int hidden = 0;  // Least tokens of all but the two longest of `most` + 1 requests.
  int shorter_ones = 0;
  while (most < num_spans && steps.num_tokens - hidden - 1 >= steps.num_steps) {
    const int next = others[static_cast<size_t>(most - 1)];
    shorter_ones += next;
    hidden = shorter_ones - std::max(0, next - span.num_tokens);
    ++most;
  }
  return most;
}

/// Formed size and its source, of a request that has a token.
void WitnessFormedSize(const RequestSpan& span, const std::vector<RequestSpan>& spans,
                       const std::vector<TimedLoad>& loads,
                       const std::optional<TokenSteps>& token_steps, Witness* witness) {
  const std::optional<int> told = FormedByCounters(span, spans, loads);
  const int by_steps = token_steps ? FormedBySteps(span, spans, token_steps->num_steps) : 0;
  const int room =
      by_steps > 0 ? RoomInSteps(span, spans, *token_steps) : static_cast<int>(spans.size());
  const int overlap = std::min(FormedByOverlap(span, spans), room);
  const bool none_shared = by_steps > 0 && room == 1;
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
                                     const std::optional<TokenSteps>& token_steps) {
  const bool all_ran = AllRan(spans, loads);
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
    if (all_ran && span.first_token_s) {
      witness.formed_size = static_cast<int>(spans.size());
      witness.source = WitnessSource::kServer;
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

std::optional<TokenSteps> TokenStepsBetween(const std::vector<RequestSpan>& spans,
                                            const LoadSample& before, const LoadSample& after) {
  if (!before.token_steps || !after.token_steps || !before.generated || !after.generated) {
    return std::nullopt;
  }
  const TokenSteps steps{static_cast<int>(*after.token_steps - *before.token_steps),
                         static_cast<int>(*after.generated - *before.generated)};
  if (steps.num_tokens < NumTokens(spans)) return std::nullopt;
  if (PreemptionsBetween(before, after).value_or(0) > 0) return std::nullopt;
  return steps;
}

void FillInCachedTokens(const LoadSample& before, const LoadSample& after,
                        std::vector<RequestSpan>* spans) {
  if (!before.cache_hits || !after.cache_hits || !before.cache_queries || !after.cache_queries) {
    return;
  }
  double untold = *after.cache_hits - *before.cache_hits;
  double prompts = 0.0;
  int num_untold = 0;
  for (const RequestSpan& span : *spans) {
    if (!span.prompt_tokens) return;
    prompts += *span.prompt_tokens;
    untold -= span.cached_tokens.value_or(0);
    num_untold += !span.cached_tokens;
  }
  const double looked_up = *after.cache_queries - *before.cache_queries;
  if (looked_up < prompts || untold < 0.0) return;
  // A prompt for which there was no room is looked up again, and what is found counts again.
  if (untold > 0.0 && (looked_up != prompts || num_untold != 1)) return;
  for (RequestSpan& span : *spans) {
    if (!span.cached_tokens) span.cached_tokens = static_cast<int>(untold);
  }
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
  const int answered = NumTokens(spans);
  const double generated = *after.generated - *before.generated;
  if (generated < 0.0) return "the server's counters ran backwards: it was started again";
  if (generated <= answered) return "";
  return fmt::format("others use the server: it generated {:.0f} tokens, {} of this step",
                     generated, answered);
}

}  // namespace detcheck
