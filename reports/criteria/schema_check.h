#pragma once

#include <memory>
#include <string>

#include "reports/criteria/text_check.h"

namespace detcheck {

/// Valid: the text is JSON (RFC 8259, no duplicate fields) that `schema`, a JSON Schema of draft 7
/// as text, accepts. Throws Error(kInput), "NAME: place: fact", for a schema that is wrong or uses
/// what would not be checked (reports/criteria/schema_keywords.h), and Error(kUsage) in a build
/// without valijson.
std::unique_ptr<TextCheck> MakeSchemaCheck(const std::string& schema, const std::string& name);

}  // namespace detcheck
