#pragma once

#include <vector>

#include "reports/control.h"
#include "reports/judgement.h"
#include "reports/samples.h"

namespace detcheck {

/// What the cause of one divergence is told from.
struct DivergenceSetting {
  const PlannedRequest& request;
  const Sample& expected;
  const Sample& actual;
  const Divergence& divergence;
  const ControlArm& control;
  /// The only samples that answered as `actual` did are the very first cold one.
  bool only_first_run = false;
  /// Some sample ran cold in company, and all such samples agree with the reference.
  bool cold_company_agrees = false;
};

/// The first rule, in the order of the table in attribution.cc, that holds; else kUnknown.
Cause Attribute(const DivergenceSetting& setting);

/// The class of a gap in nats, by the table in attribution.cc.
NearTie NearTieOf(double gap);

/// Whether the prompts of the two samples differ: by digest, or by the target's own count.
bool InputsDiffer(const Sample& a, const Sample& b);

/// "numeric" in a sentence: "logprobs differ at or before the token".
std::string CauseInWords(Cause cause);

/// The cause that a request is filed under where its divergences have several: what puts all else
/// in doubt comes first.
Cause Gravest(const std::vector<Cause>& causes);

}  // namespace detcheck
