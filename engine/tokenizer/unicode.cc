#include "engine/tokenizer/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string>
#include <vector>

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

constexpr auto kNfc = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);

utf8proc_ssize_t Checked(utf8proc_ssize_t result) {
  if (result >= 0) return result;
  throw Error(ErrorCode::kInternal, std::string("utf8proc: ") + utf8proc_errmsg(result));
}

int CombiningClass(utf8proc_int32_t code_point) {
  return utf8proc_get_property(code_point)->combining_class;
}

/// The characters of `text` taken apart, combining ones in their canonical order. utf8proc's own
/// takes time with the square of how many stand together.
std::vector<utf8proc_int32_t> Decomposed(std::string_view text) {
  std::vector<utf8proc_int32_t> all;
  std::array<utf8proc_int32_t, 32> parts = {};
  for (size_t at = 0; at < text.size();) {
    const Utf8Char character = Utf8CharAt(text, at);
    at += character.num_bytes;
    int last_class = 0;
    const utf8proc_ssize_t num_parts =
        Checked(utf8proc_decompose_char(static_cast<utf8proc_int32_t>(character.code_point),
                                        parts.data(), parts.size(), kNfc, &last_class));
    all.insert(all.end(), parts.begin(), parts.begin() + num_parts);
  }
  const auto is_starter = [](utf8proc_int32_t c) { return CombiningClass(c) == 0; };
  for (auto begin = all.begin(); begin != all.end();) {
    begin = std::find_if_not(begin, all.end(), is_starter);
    const auto end = std::find_if(begin, all.end(), is_starter);
    std::stable_sort(begin, end, [](utf8proc_int32_t a, utf8proc_int32_t b) {
      return CombiningClass(a) < CombiningClass(b);
    });
    begin = end;
  }
  return all;
}

/// Normal form C of what has no later combining characters.
std::string Composed(std::string_view text) {
  std::vector<utf8proc_int32_t> code_points = Decomposed(text);
  const auto num = static_cast<utf8proc_ssize_t>(code_points.size());
  code_points.push_back(0);  // It is made UTF-8 in place, with a zero behind it.
  const utf8proc_ssize_t num_bytes = Checked(utf8proc_reencode(code_points.data(), num, kNfc));
  return {reinterpret_cast<const char*>(code_points.data()), static_cast<size_t>(num_bytes)};
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

std::string UnicodeLibraryVersion() {
  return utf8proc_version();
}

}  // namespace detcheck
