#pragma once

#include <string>
#include <vector>

#include "engine/backend.h"
#include "engine/base/support.h"
#include "fixtures/plan.h"

namespace detcheck {

/// Whether something is on in the combination that was looked up.
enum class FeatureUse { kOff, kOn, kUnknown };

struct FeatureFinding {
  std::string feature;
  FeatureUse use = FeatureUse::kUnknown;
  SupportAnswer answer = SupportAnswer::kUndocumented;
  std::vector<std::string> sources;  ///< IDs.
  std::string note;
};

/// What an engine's documentation says of one combination. It says nothing of what was observed.
struct SupportFinding {
  std::string engine;
  std::string version;            ///< Empty: not known.
  std::string attention_backend;  ///< Empty: not known.
  std::string releases;           ///< The range that was found, in words; empty: none.
  SupportAnswer answer = SupportAnswer::kUndocumented;
  std::string reason;                    ///< Why it is not `documented`; empty where it is.
  std::vector<FeatureFinding> features;  ///< Empty where nothing was found to look them up in.
  std::vector<SupportSource> sources;    ///< Those that the features and the answer rest on.
};

/// Looks the subject's combination up. `non_greedy`: some request samples at a temperature above 0.
/// `table`: of the subject's engine; null: there is none. What is not known to be off counts as on
/// for an answer of `documented`; nothing is filled in or swapped for something documented.
SupportFinding LookUpSupport(const Manifest& subject, bool non_greedy, const SupportTable* table);

/// Whether some request of the plan samples at a temperature above 0.
bool SamplesNonGreedily(const Plan& plan);

/// The finding as in a report's JSON.
std::string SupportToJson(const SupportFinding& finding);

/// "documented: sglang 0.5.6 with fa3 (0.5.5 to before 0.5.24)"; one line.
std::string SupportInWords(const SupportFinding& finding);

}  // namespace detcheck
