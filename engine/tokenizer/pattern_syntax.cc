#include "engine/tokenizer/pattern_syntax.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <iterator>

#include "engine/base/error.h"
#include "engine/tokenizer/unicode_tables.h"
#include "engine/tokenizer/utf8.h"

namespace detcheck {
namespace {

/// Inside of a class: all that is not in kWhiteSpaceClass.
constexpr std::string_view kNoWhiteSpaceClass =
    R"(\x00-\x08\x0E-\x1F\x21-\x84\x86-\x9F\xA1-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027})"
    R"(\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{10FFFF})";

constexpr std::string_view kCategories[] = {"Cc", "Cf", "Co", "L",  "Lu", "Ll", "Lt", "Lm", "Lo",
                                            "M",  "Mn", "Mc", "Me", "N",  "Nd", "Nl", "No", "P",
                                            "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S",  "Sm",
                                            "Sc", "Sk", "So", "Z",  "Zs", "Zl", "Zp"};

bool IsPunctuation(char c) {
  return static_cast<unsigned char>(c) < 0x80 && std::ispunct(static_cast<unsigned char>(c));
}

/// What stands last in a class so far.
enum class Member { kNone, kCharacter, kRangeBegin, kRangeEnd, kSet };

std::string Escaped(char32_t code_point) {
  std::array<char, 16> escape = {};
  std::snprintf(escape.data(), escape.size(), "\\x{%X}", static_cast<unsigned>(code_point));
  return escape.data();
}

/// Inside of a class: the characters of a category that PCRE2 may not know yet.
std::string LaterRanges(std::string_view category) {
  std::string ranges;
  for (const CategoryRange& later : LaterCategories()) {
    if (!later.category.starts_with(category)) continue;
    ranges += Escaped(later.range.first) + "-" + Escaped(later.range.last);
  }
  return ranges;
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : in_(pattern) {}

  std::string Translate() {
    while (at_ < in_.size()) Item();
    return out_;
  }

 private:
  [[noreturn]] void Refuse(size_t begin, size_t end) const {
    throw Error(ErrorCode::kInput, "at byte " + std::to_string(begin) + ": \"" +
                                       std::string(in_.substr(begin, end - begin)) +
                                       "\" is not supported");
  }

  bool Next(std::string_view word) const { return in_.substr(at_).starts_with(word); }

  /// Copies what is the same in both syntaxes.
  void Copy(size_t num_bytes) {
    out_ += in_.substr(at_, num_bytes);
    at_ += num_bytes;
  }

  void Item() {
    const char c = in_[at_];
    if (c == '\\') return Escape(false);
    if (c == '[') return Class();
    if (c == '(') return GroupStart();
    if (c == ')' || c == '|') return Copy(1);
    if (c == '?' || c == '*' || c == '+') return Quantifier(1, true);
    if (c == '{') return Braces();
    if (c == '^' || c == '$' || c == '.') Refuse(at_, at_ + 1);
    Literal();
  }

  void GroupStart() {
    for (const std::string_view start : {"(?:", "(?i:", "(?=", "(?!", "(?<=", "(?<!"}) {
      if (Next(start)) return Copy(start.size());
    }
    if (Next("(?") || Next("(*")) Refuse(at_, std::min(at_ + 3, in_.size()));
    Copy(1);
  }

  void Quantifier(size_t num_bytes, bool may_be_possessive) {
    Copy(num_bytes);
    if (Next("?")) return Copy(1);
    if (!Next("+")) return;
    if (!may_be_possessive) Refuse(at_ - num_bytes, at_ + 1);
    Copy(1);
  }

  /// {n}, {n,} or {n,m}. Oniguruma gives meaning to other braces, PCRE2 does not; and {n}? is not
  /// lazy to Oniguruma.
  void Braces() {
    size_t end = at_ + 1;
    const auto skip_digits = [&] {
      const size_t begin = end;
      while (end < in_.size() && std::isdigit(static_cast<unsigned char>(in_[end]))) ++end;
      return end > begin;
    };
    bool right = skip_digits();
    const bool has_comma = right && end < in_.size() && in_[end] == ',';
    if (has_comma) {
      ++end;
      skip_digits();
    }
    right = right && end < in_.size() && in_[end] == '}';
    const bool asks = right && end + 1 < in_.size() && in_[end + 1] == '?';
    if (!right || (asks && !has_comma)) Refuse(at_, std::min(end + 1, in_.size()));
    Quantifier(end + 1 - at_, false);
  }

  void Literal() {
    const size_t num_bytes = Utf8CharAt(in_, at_).num_bytes;
    Copy(num_bytes);
  }

  void Class() {
    const size_t begin = at_;
    Copy(1);
    if (Next("^")) Copy(1);
    if (Next("]")) Refuse(begin, at_ + 1);
    Member last = Member::kNone;
    while (at_ < in_.size() && in_[at_] != ']') {
      if (in_[at_] == '[' || Next("&&")) Refuse(begin, at_ + 1);
      last = in_[at_] == '-' ? Hyphen(last) : OneMember(last);
    }
    if (at_ == in_.size()) Refuse(begin, at_);
    Copy(1);
  }

  Member OneMember(Member last) {
    const bool is_set =
        Next("\\s") || Next("\\S") || Next("\\d") || Next("\\D") || Next("\\p") || Next("\\P");
    if (is_set && last == Member::kRangeBegin) Refuse(at_, at_ + 2);
    if (in_[at_] == '\\') {
      Escape(true);
    } else {
      Literal();
    }
    if (is_set) return Member::kSet;
    return last == Member::kRangeBegin ? Member::kRangeEnd : Member::kCharacter;
  }

  /// Itself at either end of the class; a range between two characters.
  Member Hyphen(Member last) {
    const bool at_end = at_ + 1 < in_.size() && in_[at_ + 1] == ']';
    if (last == Member::kNone || at_end) {
      ++at_;
      out_ += "\\-";
      return Member::kCharacter;
    }
    if (last != Member::kCharacter) Refuse(at_, at_ + 1);
    Copy(1);
    return Member::kRangeBegin;
  }

  void Escape(bool in_class) {
    const size_t begin = at_;
    if (begin + 1 == in_.size()) Refuse(begin, begin + 1);
    const char c = in_[begin + 1];
    at_ += 2;
    switch (c) {
      case 's':
        return Put(kWhiteSpaceClass, in_class);
      case 'S':
        return Put(kNoWhiteSpaceClass, in_class);
      case 'd':
      case 'D':
        return Category(begin, "Nd", c == 'D', in_class);
      case 't':
      case 'n':
      case 'r':
      case 'f':
      case 'a':
      case 'e':
        return Put(in_.substr(begin, 2), true);
      case 'v':  // A class of its own in PCRE2.
        return Put(R"(\x0B)", true);
      case 'p':
      case 'P':
        return Property(begin, in_class);
      case 'x':
      case 'u':
        return CodePoint(begin);
      default:
        if (!IsPunctuation(c)) Refuse(begin, begin + 1 + Utf8CharAt(in_, begin + 1).num_bytes);
        return Put(in_.substr(begin, 2), true);
    }
  }

  void Put(std::string_view text, bool as_it_is) {
    out_ += as_it_is ? std::string(text) : "[" + std::string(text) + "]";
  }

  void Property(size_t begin, bool in_class) {
    const size_t end = in_.find('}', at_);
    if (!Next("{") || end == in_.npos) Refuse(begin, at_);
    std::string_view name = in_.substr(at_ + 1, end - at_ - 1);
    bool negated = in_[begin + 1] == 'P';
    if (name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    at_ = end + 1;
    Category(begin, name, negated, in_class);
  }

  /// Characters of the category, or all others.
  void Category(size_t begin, std::string_view name, bool negated, bool in_class) {
    const auto* const end = std::end(kCategories);
    if (std::find(std::begin(kCategories), end, name) == end) Refuse(begin, at_);
    const std::string later = LaterRanges(name);
    const std::string category = std::string(R"(\p{)") + std::string(name) + "}" + later;
    if (!negated) return Put(category, in_class || later.empty());
    if (!in_class) return Put("^" + category, false);
    if (!later.empty()) Refuse(begin, at_);  // PCRE2 cannot take away from a class.
    out_ += R"(\P{)" + std::string(name) + "}";
  }

  /// \xHH, \x{H…} and \uHHHH.
  void CodePoint(size_t begin) {
    const bool braces = in_[begin + 1] == 'x' && Next("{");
    if (braces) ++at_;
    const size_t most = in_[begin + 1] == 'u' ? 4 : braces ? 6 : 2;
    std::string digits;
    while (digits.size() < most && at_ < in_.size() &&
           std::isxdigit(static_cast<unsigned char>(in_[at_]))) {
      digits += in_[at_++];
    }
    const bool closed = !braces || Next("}");
    const bool enough = braces ? !digits.empty() : digits.size() == most;
    if (!closed || !enough) Refuse(begin, at_);
    if (braces) ++at_;
    // Oniguruma takes \x80 and above for a byte of UTF-8.
    const bool is_byte = in_[begin + 1] == 'x' && !braces;
    if (is_byte && digits[0] >= '8') Refuse(begin, at_);
    out_ += "\\x{" + digits + "}";
  }

  std::string_view in_;
  size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string OnigurumaToPcre2(std::string_view pattern) {
  return Translator(pattern).Translate();
}

std::string LiteralPattern(std::string_view text) {
  std::string pattern;
  for (size_t at = 0; at < text.size();) {
    const Utf8Char character = Utf8CharAt(text, at);
    pattern += Escaped(character.code_point);
    at += character.num_bytes;
  }
  return pattern;
}

}  // namespace detcheck
