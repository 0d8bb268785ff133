#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace detcheck {

/// RFC 4648, with padding.
std::string Base64(std::string_view bytes);

/// Strict: no white space, whole groups of four, no stray bits in the padding. Absent where `text`
/// is not that.
std::optional<std::string> FromBase64(std::string_view text);

}  // namespace detcheck
