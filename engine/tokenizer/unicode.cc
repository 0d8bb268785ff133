#include "engine/tokenizer/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <span>

#include "engine/base/error.h"
#include "engine/regex/regex.h"
#include "engine/tokenizer/unicode_tables.h"
#include "engine/tokenizer/utf8.h"

namespace detcheck {
namespace {

/// Characters below this are in normal form C, and compose with none before them.
constexpr char32_t kFirstCombining = 0x300;

bool IsWhiteSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

/// Where the last character of `text`, not empty, begins.
size_t LastCharacterAt(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

bool IsWordCharacter(std::string_view character) {
  static const Regex word(R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}])",
                          Regex::Texts::kUtf8);
  return RegexMatcher(word).Find(character).has_value();
}

bool IsLaterCombining(char32_t c) {
  const std::span<const CharacterRange> ranges = LaterCombining();
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), c,
                       [](char32_t value, const CharacterRange& r) { return value < r.first; });
  return after != ranges.begin() && c <= std::prev(after)->last;
}

struct Free {
  void operator()(utf8proc_uint8_t* text) const { std::free(text); }
};

/// Normal form C of what has no later combining characters.
std::string Composed(std::string_view text) {
  if (text.empty()) return "";
  utf8proc_uint8_t* mapped = nullptr;
  constexpr auto kNfc = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  const utf8proc_ssize_t len =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &mapped, kNfc);
  const std::unique_ptr<utf8proc_uint8_t, Free> owned(mapped);
  if (len < 0) {
    throw Error(ErrorCode::kInternal, std::string("utf8proc: ") + utf8proc_errmsg(len));
  }
  return {reinterpret_cast<const char*>(mapped), static_cast<size_t>(len)};
}

}  // namespace

std::string ToNfc(std::string_view text) {
  std::string normal;
  size_t done = 0;         // Up to here `normal` is made.
  size_t compose_end = 0;  // From `done` to here something may have to be composed.
  size_t previous = 0;     // Where the character before this one begins.
  const auto make_until = [&](size_t end) {
    if (compose_end > done) normal += Composed(text.substr(done, compose_end - done));
    done = std::max(done, compose_end);
    normal += text.substr(done, end - done);
    done = end;
  };
  for (size_t at = 0; at < text.size();) {
    const Utf8Char character = Utf8CharAt(text, at);
    const size_t next = at + character.num_bytes;
    if (character.code_point >= kFirstCombining) {
      if (IsLaterCombining(character.code_point)) {
        make_until(next);
      } else {
        if (compose_end != at || compose_end <= done) make_until(std::max(previous, done));
        compose_end = next;
      }
    }
    previous = at;
    at = next;
  }
  make_until(text.size());
  return normal;
}

size_t WhiteSpaceLenAtEnd(std::string_view text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t at = LastCharacterAt(rest);
    if (!IsWhiteSpace(Utf8CharAt(rest, at).code_point)) break;
    rest = rest.substr(0, at);
  }
  return text.size() - rest.size();
}

size_t WhiteSpaceLenAtBegin(std::string_view text) {
  size_t len = 0;
  while (len < text.size()) {
    const Utf8Char character = Utf8CharAt(text, len);
    if (!IsWhiteSpace(character.code_point)) break;
    len += character.num_bytes;
  }
  return len;
}

bool EndsWithWordCharacter(std::string_view text) {
  return !text.empty() && IsWordCharacter(text.substr(LastCharacterAt(text)));
}

bool BeginsWithWordCharacter(std::string_view text) {
  return !text.empty() && IsWordCharacter(text.substr(0, Utf8CharAt(text, 0).num_bytes));
}

}  // namespace detcheck
