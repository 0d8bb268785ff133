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
    if (!within || !timed.load.running) continue;
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
                                     const std::vector<TimedLoad>& loads, bool has_counters) {
  std::vector<Witness> witnesses;
  for (size_t i = 0; i < spans.size(); ++i) {
    const RequestSpan& span = spans[i];
    Witness witness;
    witness.slot = static_cast<int>(i);
    witness.cached_tokens = span.cached_tokens;
    if (span.cached_tokens) witness.source = WitnessSource::kServer;
    if (span.first_token_s) {
      if (has_counters) witness.formed_size = FormedByCounters(span, spans, loads);
      witness.source = witness.formed_size ? WitnessSource::kServer : WitnessSource::kClientOverlap;
      if (!witness.formed_size) witness.formed_size = FormedByOverlap(span, spans);
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
  double answered = 0.0;
  for (const RequestSpan& span : spans) answered += span.num_tokens;
  const double generated = *after.generated - *before.generated;
  if (generated < 0.0) return "the server's counters ran backwards: it was started again";
  if (generated <= answered) return "";
  return fmt::format("others use the server: it generated {:.0f} tokens, {:.0f} of this step",
                     generated, answered);
}

}  // namespace detcheck
