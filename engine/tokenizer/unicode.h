#pragma once

#include <string>
#include <string_view>

namespace detcheck {

// All texts are UTF-8.

/// Normal form C, as the Hugging Face library makes it (Unicode 9.0).
std::string ToNfc(std::string_view text);

/// Version of utf8proc in use: "2.8.0".
std::string UnicodeLibraryVersion();

/// White space (the property White_Space) at the end of `text`, and at its beginning, in bytes.
size_t WhiteSpaceLenAtEnd(std::string_view text);
size_t WhiteSpaceLenAtBegin(std::string_view text);

/// Whether the last, and the first character of `text` is a word character (Unicode's UTS #18:
/// Alphabetic, M, Nd, Pc, Join_Control). False where it is empty.
bool EndsWithWordCharacter(std::string_view text);
bool BeginsWithWordCharacter(std::string_view text);

}  // namespace detcheck
