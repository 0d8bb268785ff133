#pragma once

// Internal: the scope's part of a report.

#include "fixtures/json_reader.h"
#include "reports/json_text.h"
#include "reports/scope.h"

namespace detcheck {

/// Writes the scope as canonical JSON.
void WriteScope(const Scope& scope, JsonText* json);

/// Strict: every scope word in its place, tested ones with values, the others with a reason.
/// `plan` is the report's. Throws Error(kInput).
Scope ReadScope(const JsonValue& value, const Plan& plan);

}  // namespace detcheck
