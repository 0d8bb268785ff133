#include "reports/json_text.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "engine/base/utf8.h"
#include "fixtures/canonical_json.h"

namespace detcheck {

void JsonText::Separate() {
  if (needs_comma_) text_ += ',';
  needs_comma_ = true;
}

void JsonText::Open(char bracket) {
  Separate();
  text_ += bracket;
  needs_comma_ = false;
}

void JsonText::Close(char bracket) {
  text_ += bracket;
  needs_comma_ = true;
}

void JsonText::Key(std::string_view name) {
  Plain(name);
  text_ += ':';
  needs_comma_ = false;
}

void JsonText::Int(int64_t value) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  Raw({digits.data(), static_cast<size_t>(end - digits.data())});
}

void JsonText::Double(double value) {
  Raw(CanonicalNumber(value));
}

void JsonText::String(std::string_view text) {
  Separate();
  AppendCanonicalString(text, &text_);
}

void JsonText::Plain(std::string_view text) {
  Separate();
  text_ += '"';
  text_ += text;
  text_ += '"';
}

void JsonText::Raw(std::string_view json) {
  Separate();
  text_ += json;
}

void JsonText::Ints(const std::vector<int>& values) {
  BeginArray();
  for (const int value : values) Int(value);
  EndArray();
}

std::string ToUtf8(std::string_view text) {
  if (IsUtf8(text)) return std::string(text);
  std::string clean;
  while (!text.empty()) {
    size_t len = 1;
    while (len <= std::min<size_t>(4, text.size()) && !IsUtf8(text.substr(0, len))) ++len;
    const bool is_character = len <= std::min<size_t>(4, text.size());
    clean += is_character ? text.substr(0, len) : "\xEF\xBF\xBD";
    text.remove_prefix(is_character ? len : 1);
  }
  return clean;
}

}  // namespace detcheck
