#pragma once

// Internal to schema_check.cc.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace detcheck {

/// What a schema asks for that bears on how it is checked.
struct SchemaTraits {
  bool matches_patterns = false;  ///< Strings are matched: pattern, patternProperties, format.
};

/// Refuses keywords that are none of draft 7, or that the validator would pass over in silence: a
/// criterion must not be weaker than it reads. Refused, too: what stands beside a $ref, references
/// beyond the document, and references that lead to themselves. Throws Error(kInput), "NAME: place:
/// fact".
SchemaTraits CheckSchemaKeywords(const nlohmann::json& schema, const std::string& name);

}  // namespace detcheck
