#pragma once

// Internal: included only from .cc files that read or write a format.

#include "fixtures/json_reader.h"
#include "fixtures/plan.h"
#include "reports/json_text.h"
#include "reports/judgement.h"
#include "reports/transcript.h"

namespace detcheck {

void WriteJudgement(const Judgement& judgement, const Plan& plan, JsonText* json);

/// Every request and sample that it names must be in `plan` and `transcript`.
Judgement ReadJudgement(const JsonValue& value, const Plan& plan, const Transcript& transcript);

}  // namespace detcheck
