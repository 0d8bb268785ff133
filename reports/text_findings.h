#pragma once

#include <map>
#include <string>

namespace detcheck {

/// Whether a text is what a criterion on single texts asks for (fixtures/criterion.h).
enum class Validity {
  kValid,
  kInvalid,
  kUnknown,  ///< It could not be told: a command that did not end, a match without end.
};

struct TextFinding {
  Validity validity = Validity::kUnknown;
  std::string why;  ///< Of what is not valid, in half a line; else empty.
  bool operator==(const TextFinding&) const = default;
};

/// What was found of each distinct text. Kept in the report, so that nothing is run again to read
/// it.
using TextFindings = std::map<std::string, TextFinding, std::less<>>;

}  // namespace detcheck
