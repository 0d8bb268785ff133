#pragma once

#include <cstddef>
#include <string_view>

namespace detcheck {

/// Index of the first byte of `text` that is no part of a UTF-8 character (RFC 3629: shortest
/// forms, no surrogates, nothing above U+10FFFF); npos where there is none.
size_t FindInvalidUtf8(std::string_view text);

/// Bytes at the end of `text` that are the beginning of a UTF-8 character, and not yet the whole
/// of it: 0 to 3.
size_t UnfinishedUtf8Len(std::string_view text);

/// The character that begins at byte `at` of UTF-8 text, and its length in bytes.
struct Utf8Char {
  char32_t code_point = 0;
  size_t num_bytes = 0;
};
Utf8Char Utf8CharAt(std::string_view text, size_t at);

}  // namespace detcheck
