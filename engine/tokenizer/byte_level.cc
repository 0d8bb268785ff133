#include "engine/tokenizer/byte_level.h"

#include "engine/tokenizer/utf8.h"

namespace detcheck {
namespace {

constexpr int kNumBytes = 256;
constexpr char32_t kFirstOfOthers = 0x100;
constexpr char32_t kSpellingsEnd = kFirstOfOthers + 68;

bool SpellsItself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

/// All spellings are below U+0800.
std::string ShortUtf8(char32_t code_point) {
  if (code_point < 0x80) return std::string(1, static_cast<char>(code_point));
  return {static_cast<char>(0xC0 | code_point >> 6), static_cast<char>(0x80 | (code_point & 0x3F))};
}

struct Tables {
  std::array<std::string, kNumBytes> spelling_of;
  std::array<int, kSpellingsEnd> byte_of;  ///< -1: spells no byte.

  Tables() {
    byte_of.fill(-1);
    char32_t next = kFirstOfOthers;
    for (int byte = 0; byte < kNumBytes; ++byte) {
      const char32_t spelling = SpellsItself(byte) ? static_cast<char32_t>(byte) : next++;
      spelling_of[byte] = ShortUtf8(spelling);
      byte_of[spelling] = byte;
    }
  }
};

const Tables& TheTables() {
  static const Tables tables;
  return tables;
}

}  // namespace

const std::array<std::string, 256>& ByteSpellings() {
  return TheTables().spelling_of;
}

std::optional<std::string> SpelledBytes(std::string_view spelled) {
  std::string bytes;
  for (size_t at = 0; at < spelled.size();) {
    const Utf8Char character = Utf8CharAt(spelled, at);
    at += character.num_bytes;
    if (character.code_point >= kSpellingsEnd) return std::nullopt;
    const int byte = TheTables().byte_of[character.code_point];
    if (byte < 0) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

std::string DecodedBytes(std::string_view token) {
  return SpelledBytes(token).value_or(std::string(token));
}

}  // namespace detcheck
