#include "reports/seeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "reports/token_identity.h"

namespace detcheck {
namespace {

bool IsFiltered(const Sampling& sampling) {
  return sampling.top_p < 1.0 || sampling.top_k >= 1 || sampling.min_p > 0.0;
}

// Bound on log(p^e / sum), the sum over what the token was drawn from.
double LogBound(const TokenLogprob& told, double exponent, bool filtered) {
  double sum = 0.0;
  bool has_chosen = false;
  for (const TokenCandidate& candidate : told.top) {
    if (filtered && candidate.logprob < told.logprob) continue;
    has_chosen = has_chosen || candidate.logprob == told.logprob;
    sum += std::exp(exponent * candidate.logprob);
  }
  if (!has_chosen) sum += std::exp(exponent * told.logprob);
  // All of p adds up to 1, and p^e >= p where e <= 1.
  if (!filtered && exponent <= 1.0) sum = std::max(sum, 1.0);
  const double bound = exponent * told.logprob - std::log(sum);
  return std::isfinite(bound) ? std::min(bound, 0.0) : 0.0;
}

// The requests of one group with the answers that stand for them.
struct SeededAnswer {
  RequestJudgement* request;
  const PlannedRequest* planned;
  const Completion* answer;
};

using Group = std::vector<SeededAnswer>;

bool EqualButForSeed(const PlannedRequest& a, const PlannedRequest& b) {
  PlannedRequest other = b;
  other.id = a.id;
  other.sampling.seed = a.sampling.seed;
  return a == other && a.sampling.temperature > 0.0;
}

std::vector<Group> GroupBySeed(const Plan& plan, const Transcript& transcript,
                               ModeJudgement* judgement) {
  std::vector<Group> groups;
  for (RequestJudgement& request : judgement->requests) {
    if (!request.subject || !request.reference || request.verdict == Verdict::kFail) continue;
    const PlannedRequest& planned = plan.requests[request.request];
    const SampleRef& ref = *request.reference;
    const SeededAnswer answer{&request, &planned,
                              &transcript.records[ref.record].completions[ref.item]};
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& one) {
      return EqualButForSeed(*one.front().planned, planned);
    });
    if (group != groups.end()) {
      group->push_back(answer);
    } else {
      groups.push_back({answer});
    }
  }
  std::erase_if(groups, [](const Group& group) { return group.size() < 2; });
  return groups;
}

void Add(Verdict verdict, std::string reason, RequestJudgement* request) {
  request->verdict = Worse(request->verdict, verdict);
  request->reasons.push_back(std::move(reason));
}

// What the pairs of one group showed.
struct Findings {
  int num_different = 0;
  int num_equal = 0;
  int num_by_chance = 0;  // Equal, and probable enough to be so.
};

void ComparePair(const SeededAnswer& a, const SeededAnswer& b, Findings* findings) {
  const TokenIdentity identity = IdentityOf(*a.answer, *b.answer);
  if (OutputBytes(*a.answer, identity) != OutputBytes(*b.answer, identity) ||
      a.answer->finish_reason != b.answer->finish_reason) {
    ++findings->num_different;
    return;
  }
  const std::string which =
      fmt::format("seeds {} and {}", a.planned->sampling.seed, b.planned->sampling.seed);
  std::optional<double> bound = LogProbabilityBound(a.planned->sampling, *a.answer);
  if (!bound) bound = LogProbabilityBound(b.planned->sampling, *b.answer);
  if (!bound) {
    Add(Verdict::kInconclusive,
        which + ": equal outputs, and no logprobs to tell whether by chance", b.request);
  } else if (*bound < std::log(kTellingProbability)) {
    ++findings->num_equal;
    b.request->cause = Cause::kSampling;
    Add(Verdict::kFail,
        fmt::format("different seeds, equal outputs ({}): by chance with a probability of at most "
                    "1e{:.0f}",
                    which, std::ceil(*bound / std::log(10.0))),
        b.request);
  } else {
    ++findings->num_by_chance;
  }
}

}  // namespace

std::optional<double> LogProbabilityBound(const Sampling& sampling, const Completion& answer) {
  const auto num_logprobs = static_cast<int>(answer.logprobs.size());
  if (num_logprobs == 0 || num_logprobs != NumTokens(answer)) return std::nullopt;
  const bool filtered = IsFiltered(sampling);
  double bound = 0.0;
  for (const TokenLogprob& told : answer.logprobs) {
    bound += std::max(LogBound(told, 1.0 / sampling.temperature, filtered),
                      LogBound(told, 1.0, filtered));
  }
  return bound;
}

void CompareSeeds(const Plan& plan, const Transcript& transcript, ModeJudgement* judgement) {
  Findings all;
  for (const Group& group : GroupBySeed(plan, transcript, judgement)) {
    Findings findings;
    for (size_t i = 0; i < group.size(); ++i) {
      for (size_t j = i + 1; j < group.size(); ++j) ComparePair(group[i], group[j], &findings);
    }
    if (findings.num_different == 0 && findings.num_equal == 0) {
      Add(Verdict::kInconclusive, "too little entropy: equal outputs of its seeds may be chance",
          group.front().request);
    }
    all.num_different += findings.num_different;
    all.num_equal += findings.num_equal;
    all.num_by_chance += findings.num_by_chance;
  }
  judgement->notes.push_back(fmt::format(
      "pairs of seeds: {} with different outputs, {} with equal ones, {} with equal ones that may "
      "be chance",
      all.num_different, all.num_equal, all.num_by_chance));
}

}  // namespace detcheck
