#pragma once

// Internal: included only from .cc files that read or write a format.

#include "engine/backend.h"
#include "fixtures/json_reader.h"
#include "reports/json_text.h"

namespace detcheck {

/// [{"name", "source", "value"}, …]
void WriteManifest(const Manifest& manifest, JsonText* json);
Manifest ReadManifest(const JsonValue& value);

/// {"capabilities": {…}, "chunk_size", …}; absent where not known.
void WriteFacts(const TargetFacts& facts, JsonText* json);
TargetFacts ReadFacts(const JsonValue& value);

}  // namespace detcheck
