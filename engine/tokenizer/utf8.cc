#include "engine/tokenizer/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "engine/base/utf8.h"

namespace detcheck {
namespace {

unsigned char ByteAt(std::string_view text, size_t at) {
  return static_cast<unsigned char>(text[at]);
}

bool EightAscii(std::string_view text, size_t at) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, text.data() + at, sizeof bytes);
  return (bytes & 0x8080808080808080u) == 0;
}

/// Whether more bytes make `begin`, which is not a whole character, one.
bool IsUnfinished(std::string_view begin) {
  // One of the two may follow any first byte.
  for (const std::string_view following : {"\x80\x80\x80", "\xA0\xA0\xA0"}) {
    for (size_t num_more = 1; begin.size() + num_more <= 4; ++num_more) {
      const std::string whole = std::string(begin) + std::string(following.substr(0, num_more));
      if (Utf8SequenceLen(whole) == whole.size()) return true;
    }
  }
  return false;
}

}  // namespace

size_t FindInvalidUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (at + 8 <= text.size() && EightAscii(text, at)) {
      at += 8;
      continue;
    }
    const size_t len = Utf8SequenceLen(text.substr(at));
    if (len == 0) return at;
    at += len;
  }
  return std::string_view::npos;
}

size_t UnfinishedUtf8Len(std::string_view text) {
  for (size_t len = 1; len <= std::min<size_t>(3, text.size()); ++len) {
    const unsigned char first = ByteAt(text, text.size() - len);
    const bool is_following = first >= 0x80 && first <= 0xBF;
    if (is_following) continue;
    return IsUnfinished(text.substr(text.size() - len)) ? len : 0;
  }
  return 0;
}

Utf8Char Utf8CharAt(std::string_view text, size_t at) {
  const unsigned char first = ByteAt(text, at);
  if (first < 0x80) return {first, 1};
  const size_t num_bytes = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  char32_t code_point = first & (0x7Fu >> num_bytes);
  for (size_t i = 1; i < num_bytes; ++i) {
    code_point = code_point << 6 | (ByteAt(text, at + i) & 0x3Fu);
  }
  return {code_point, num_bytes};
}

}  // namespace detcheck
