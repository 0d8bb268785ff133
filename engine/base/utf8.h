#pragma once

#include <cstddef>
#include <string_view>

namespace detcheck {

/// Length of the UTF-8 sequence that begins `text`, or 0 where it is malformed: overlong, a
/// surrogate, above U+10FFFF or cut short (Unicode 15, table 3-7). `text` is not empty.
size_t Utf8SequenceLen(std::string_view text);

bool IsUtf8(std::string_view text);

}  // namespace detcheck
