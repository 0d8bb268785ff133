#include "reports/attribution.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>

#include "reports/divergence.h"
#include "reports/judgement_words.h"

namespace detcheck {
namespace {

// The two candidates at the first differing token, where both answers tell both logprobs and tell
// the same bits.
struct EqualCandidates {
  double expected_token = 0.0;
  double actual_token = 0.0;
  bool Tied() const { return SameBits(expected_token, actual_token); }
};

std::optional<EqualCandidates> CandidatesIfEqual(const DivergenceSetting& s) {
  const Divergence& d = s.divergence;
  if (!d.index || !d.expected_token || !d.actual_token) return std::nullopt;
  // What differed earlier has already taken the answers apart.
  if (d.first_logprob_index) return std::nullopt;
  if (!s.expected.HasTrace() || !s.actual.HasTrace()) return std::nullopt;
  const auto told = [&](const Sample& sample, TokenId id) {
    return LogprobOf(*sample.answer, *d.index, id);
  };
  const auto e_in_e = told(s.expected, *d.expected_token);
  const auto e_in_a = told(s.actual, *d.expected_token);
  const auto a_in_e = told(s.expected, *d.actual_token);
  const auto a_in_a = told(s.actual, *d.actual_token);
  if (!e_in_e || !e_in_a || !a_in_e || !a_in_a) return std::nullopt;
  return EqualCandidates{*e_in_e, *a_in_e};
}

bool IsInput(const DivergenceSetting& s) {
  return InputsDiffer(s.expected, s.actual);
}

// At temperature > 0 a tie of logprobs decides nothing: the draw does.
bool IsExactTie(const DivergenceSetting& s) {
  const auto candidates = CandidatesIfEqual(s);
  return s.request.sampling.temperature == 0.0 && candidates && candidates->Tied();
}

bool IsNotRepeatable(const DivergenceSetting& s) {
  return s.control.not_repeatable;
}

bool IsFirstRunOnly(const DivergenceSetting& s) {
  return s.control.first_run_only && s.only_first_run;
}

bool IsPrefixCache(const DivergenceSetting& s) {
  if (s.expected.ReadCache() || !s.actual.ReadCache()) return false;
  return s.actual.IsSolo() || s.cold_company_agrees;
}

bool IsSampling(const DivergenceSetting& s) {
  const auto candidates = CandidatesIfEqual(s);
  if (!candidates) return false;
  return s.request.sampling.temperature > 0.0 || !candidates->Tied();
}

bool IsNumeric(const DivergenceSetting& s) {
  return s.divergence.first_logprob_index.has_value();
}

struct Rule {
  Cause cause;
  bool (*holds)(const DivergenceSetting& setting);
  const char* words;
};

constexpr std::array<Rule, 7> kRules = {{
    {Cause::kInput, IsInput, "the prompts differ"},
    {Cause::kExactTie, IsExactTie, "two candidates have exactly the same logprob"},
    {Cause::kNotRepeatable, IsNotRepeatable, "the same request alone does not repeat"},
    {Cause::kFirstRunOnly, IsFirstRunOnly, "only the first run differs"},
    {Cause::kPrefixCache, IsPrefixCache, "differs when it reads the prefix cache"},
    {Cause::kSampling, IsSampling,
     "the candidates' logprobs are equal in bits, the choice differs"},
    {Cause::kNumeric, IsNumeric, "logprobs differ at or before the token"},
}};

// Classes of the gap between the two best candidates, in nats; the first that holds.
struct GapClass {
  NearTie near_tie;
  double up_to;
};

constexpr std::array<GapClass, 4> kGapClasses = {{
    {NearTie::kZero, 0.0},
    {NearTie::kEighth, 0.125},
    {NearTie::kTenths, 0.7},
    {NearTie::kNone, std::numeric_limits<double>::infinity()},
}};

}  // namespace

NearTie NearTieOf(double gap) {
  for (const GapClass& one : kGapClasses) {
    if (gap <= one.up_to) return one.near_tie;
  }
  return NearTie::kNone;
}

std::string ToString(NearTie near_tie) {
  return WordOf(kNearTieWords, near_tie);
}

bool InputsDiffer(const Sample& a, const Sample& b) {
  const std::string& digest_a = a.PromptDigest();
  const std::string& digest_b = b.PromptDigest();
  if (!digest_a.empty() && !digest_b.empty() && digest_a != digest_b) return true;
  const std::optional<int>& count_a = a.answer->prompt_tokens;
  const std::optional<int>& count_b = b.answer->prompt_tokens;
  return count_a && count_b && *count_a != *count_b;
}

Cause Attribute(const DivergenceSetting& setting) {
  for (const Rule& rule : kRules) {
    if (rule.holds(setting)) return rule.cause;
  }
  return Cause::kUnknown;
}

std::string CauseInWords(Cause cause) {
  for (const Rule& rule : kRules) {
    if (rule.cause == cause) return rule.words;
  }
  return cause == Cause::kUnknown
             ? "the target tells too little; logprobs with candidates would tell"
             : "";
}

Cause Gravest(const std::vector<Cause>& causes) {
  for (const Cause cause :
       {Cause::kInput, Cause::kNotRepeatable, Cause::kFirstRunOnly, Cause::kPrefixCache,
        Cause::kSampling, Cause::kNumeric, Cause::kExactTie, Cause::kUnknown}) {
    if (std::find(causes.begin(), causes.end(), cause) != causes.end()) return cause;
  }
  return Cause::kNone;
}

}  // namespace detcheck
