#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/request.h"
#include "engine/remote/adapter.h"

namespace detcheck {

// What shows under which conditions the requests of a batch ran, where the engine itself does not
// tell: the server's counters while they ran, and the client's own clock.

/// A look at the server's counters, and when it was taken: between `begin_s` and `end_s`.
struct TimedLoad {
  double begin_s = 0.0;
  double end_s = 0.0;
  LoadSample load;
};

/// One request as the client saw it. Seconds since the batch began; absent: it did not come to
/// that.
struct RequestSpan {
  std::optional<double> sent_s;
  std::optional<double> first_token_s;
  std::optional<double> last_token_s;
  double ended_s = 0.0;
  int num_tokens = 0;
  std::optional<int> prompt_tokens;
  std::optional<int> cached_tokens;
};

/// Engine steps that gave tokens, and the tokens that they gave: at most one to each request.
struct TokenSteps {
  int num_steps = 0;
  int num_tokens = 0;
};

/// Witness of each request: how many ran with it, and how many tokens of others were prefilled
/// while it decoded.
///
/// Formed size, the largest of
/// - all of them, where a look told that as many ran while all were under way: who else could it
///   have been. So it is also before they have tokens, unless the look counts requests that wait
///   for their first engine step (LoadSample::counts_starting);
/// - the most requests that its batch was told to have while the request had a token and was not at
///   its end, at most as many as were under way;
/// - what the engine steps show that gave the batch its tokens. Two requests of a and b tokens
///   shared one where a + b is above their number, and requests of which any two did shared one all
///   together, each having decoded without a pause. Where all have equally many tokens this is
///   exact: with as many steps as two of them have tokens, or more, some two did not.
/// Where no look fell into that time, and the steps show no more, client overlap: the most requests
/// that had their first token and were not at their last at one moment, at most as many as the
/// steps leave room for.
///
/// Cached tokens are those of the span. The source is the weakest of what the witness has.
///
/// Prefill of a neighbour is seen from its release, after the request's first token, to its first
/// token, before the request's last: its prompt ran meanwhile, in one of the request's steps or
/// between two. Both are told as `interleaved`, in prompt tokens that were not cached.
std::vector<Witness> WitnessRequests(const std::vector<RequestSpan>& spans,
                                     const std::vector<TimedLoad>& loads,
                                     const std::optional<TokenSteps>& token_steps);

/// Engine steps that gave tokens between the two looks; absent where the server does not count
/// them, where its counters do not yet have all tokens that the batch received, and where a request
/// was preempted.
std::optional<TokenSteps> TokenStepsBetween(const std::vector<RequestSpan>& spans,
                                            const LoadSample& before, const LoadSample& after);

/// Fills in the cached tokens that the answers did not tell, from what the server counted between
/// the two looks, as far as that leaves no choice: none where it found nothing beyond what the
/// answers told, and all that it found where one answer alone did not tell and no other prompt was
/// looked up. Nothing where the server does not count them, or has not looked up all prompts.
void FillInCachedTokens(const LoadSample& before, const LoadSample& after,
                        std::vector<RequestSpan>* spans);

/// Whether the server counted one group of requests prefilled together between the two looks, of as
/// many as `num_requests`: they were in one batch from their first token on.
bool FormedTogether(const LoadSample& before, const LoadSample& after, int num_requests);

/// Preemptions that the server counted between the two looks, of all its requests together; absent
/// where it does not count them.
std::optional<int> PreemptionsBetween(const LoadSample& before, const LoadSample& after);

/// Why others must have used the server while the batch ran; empty: nothing shows it. `before` and
/// `after` were taken with nothing of ours under way; `exact`: every token that the server
/// generated for the batch was received.
std::string OthersTraffic(const std::vector<RequestSpan>& spans, const LoadSample& before,
                          const std::vector<TimedLoad>& loads, const LoadSample& after, bool exact);

}  // namespace detcheck
