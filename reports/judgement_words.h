#pragma once

// Internal: the words of a judgement, in reports and for people.

#include "fixtures/words.h"
#include "reports/judgement.h"

namespace detcheck {

inline constexpr std::pair<Verdict, std::string_view> kVerdictWordList[] = {
    {Verdict::kPass, "pass"},
    {Verdict::kFail, "fail"},
    {Verdict::kInconclusive, "inconclusive"},
    {Verdict::kUnsupported, "unsupported"},
    {Verdict::kError, "error"},
};
inline constexpr WordTable<Verdict> kVerdictWords = kVerdictWordList;

inline constexpr std::pair<Cause, std::string_view> kCauseWordList[] = {
    {Cause::kNone, "none"},
    {Cause::kInput, "input"},
    {Cause::kExactTie, "exact_tie"},
    {Cause::kNotRepeatable, "not_repeatable"},
    {Cause::kFirstRunOnly, "first_run_only"},
    {Cause::kPrefixCache, "prefix_cache"},
    {Cause::kSampling, "sampling"},
    {Cause::kNumeric, "numeric"},
    {Cause::kUnknown, "unknown"},
};
inline constexpr WordTable<Cause> kCauseWords = kCauseWordList;

inline constexpr std::pair<ConditionKind, std::string_view> kConditionWordList[] = {
    {ConditionKind::kNone, "none"},
    {ConditionKind::kFormedSize, "formed_size"},
    {ConditionKind::kNeighbourPrefill, "neighbour_prefill"},
    {ConditionKind::kSameStepPrefill, "same_step_prefill"},
    {ConditionKind::kCachedTokens, "cached_tokens"},
    {ConditionKind::kItem, "item"},
    {ConditionKind::kHistory, "history"},
    {ConditionKind::kChunkBoundary, "chunk_boundary"},
    {ConditionKind::kAbsolutePosition, "absolute_position"},
    {ConditionKind::kOtherAxis, "other_axis"},
    {ConditionKind::kTwoAxes, "two_axes"},
    {ConditionKind::kVariedSteps, "varied_steps"},
    {ConditionKind::kIntermittent, "intermittent"},
    {ConditionKind::kRestart, "restart"},
    {ConditionKind::kReplica, "replica"},
    {ConditionKind::kFirstRun, "first_run"},
};
inline constexpr WordTable<ConditionKind> kConditionWords = kConditionWordList;

inline constexpr std::pair<NearTie, std::string_view> kNearTieWordList[] = {
    {NearTie::kZero, "0"},
    {NearTie::kEighth, "<=0.125"},
    {NearTie::kTenths, "<=0.7"},
    {NearTie::kNone, ">0.7"},
};
inline constexpr WordTable<NearTie> kNearTieWords = kNearTieWordList;

inline constexpr std::pair<TokenIdentity, std::string_view> kTokenIdentityWordList[] = {
    {TokenIdentity::kIds, "ids"},
    {TokenIdentity::kText, "text"},
};
inline constexpr WordTable<TokenIdentity> kTokenIdentityWords = kTokenIdentityWordList;

}  // namespace detcheck
