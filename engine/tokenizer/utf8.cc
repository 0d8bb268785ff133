#include "engine/tokenizer/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace detcheck {
namespace {

unsigned char ByteAt(std::string_view text, size_t at) {
  return static_cast<unsigned char>(text[at]);
}

/// What may follow a first byte: how many bytes, and the range of the first of them (RFC 3629,
/// section 4). num_bytes 0: no character begins with this byte.
struct Following {
  size_t num_bytes = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
};

Following After(unsigned char first) {
  if (first >= 0xC2 && first <= 0xDF) return {1};
  if (first == 0xE0) return {2, 0xA0, 0xBF};
  if (first == 0xED) return {2, 0x80, 0x9F};
  if (first >= 0xE1 && first <= 0xEF) return {2};
  if (first == 0xF0) return {3, 0x90, 0xBF};
  if (first == 0xF4) return {3, 0x80, 0x8F};
  if (first >= 0xF1 && first <= 0xF3) return {3};
  return {0};
}

/// How many of the bytes that must follow byte `at` are there and right.
size_t NumRight(std::string_view text, size_t at, const Following& following) {
  size_t num_right = 0;
  while (num_right < following.num_bytes && at + 1 + num_right < text.size()) {
    const unsigned char byte = ByteAt(text, at + 1 + num_right);
    const unsigned char low = num_right == 0 ? following.low : 0x80;
    const unsigned char high = num_right == 0 ? following.high : 0xBF;
    if (byte < low || byte > high) break;
    ++num_right;
  }
  return num_right;
}

bool EightAscii(std::string_view text, size_t at) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, text.data() + at, sizeof bytes);
  return (bytes & 0x8080808080808080u) == 0;
}

}  // namespace

size_t FindInvalidUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (at + 8 <= text.size() && EightAscii(text, at)) {
      at += 8;
    } else if (ByteAt(text, at) < 0x80) {
      ++at;
    } else {
      const Following following = After(ByteAt(text, at));
      if (following.num_bytes == 0) return at;
      if (NumRight(text, at, following) != following.num_bytes) return at;
      at += 1 + following.num_bytes;
    }
  }
  return std::string_view::npos;
}

size_t UnfinishedUtf8Len(std::string_view text) {
  for (size_t len = 1; len <= std::min<size_t>(3, text.size()); ++len) {
    const size_t at = text.size() - len;
    const unsigned char byte = ByteAt(text, at);
    if (byte >= 0x80 && byte <= 0xBF) continue;
    const Following following = After(byte);
    const bool unfinished = following.num_bytes >= len && NumRight(text, at, following) == len - 1;
    return unfinished ? len : 0;
  }
  return 0;
}

Utf8Char Utf8CharAt(std::string_view text, size_t at) {
  const unsigned char first = ByteAt(text, at);
  const size_t num_following = After(first).num_bytes;
  if (num_following == 0) return {first, 1};
  char32_t code_point = first & (0x3Fu >> num_following);
  for (size_t i = 1; i <= num_following; ++i) {
    code_point = code_point << 6 | (ByteAt(text, at + i) & 0x3Fu);
  }
  return {code_point, 1 + num_following};
}

}  // namespace detcheck
