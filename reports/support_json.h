#pragma once

// Internal: included only from .cc files that read or write a format.

#include "fixtures/json_reader.h"
#include "reports/json_text.h"
#include "reports/support.h"

namespace detcheck {

/// {"answer", "attention_backend", "engine", "features", …}, as report-1.schema.json has it.
void WriteSupport(const SupportFinding& finding, JsonText* json);
SupportFinding ReadSupport(const JsonValue& value);

}  // namespace detcheck
