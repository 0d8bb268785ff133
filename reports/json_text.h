#pragma once

// Internal: included only from .cc files that write a format.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace detcheck {

/// Writes JSON text front to back, without spaces. Where the fields of every object are written in
/// alphabetical order, and the text was handed in as UTF-8, the result is canonical (RFC 8785).
class JsonText {
 public:
  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }
  void BeginArray() { Open('['); }
  void EndArray() { Close(']'); }
  /// Names the value that is written next. `name` needs no escapes.
  void Key(std::string_view name);

  void Int(int64_t value);
  void Bool(bool value) { Raw(value ? "true" : "false"); }
  /// Finite; as the shortest text that reads back as the same double.
  void Double(double value);
  /// UTF-8. Throws Error(kInput) otherwise.
  void String(std::string_view text);
  /// A string that needs no escapes: digits, base64, our own words.
  void Plain(std::string_view text);
  /// JSON text as it is.
  void Raw(std::string_view json);
  void Ints(const std::vector<int>& values);

  void Field(std::string_view name, int64_t value) { Key(name), Int(value); }
  void Field(std::string_view name, int value) { Key(name), Int(value); }
  void Field(std::string_view name, bool value) { Key(name), Bool(value); }
  void Field(std::string_view name, double value) { Key(name), Double(value); }
  void Field(std::string_view name, std::string_view value) { Key(name), String(value); }
  void Field(std::string_view name, const std::string& value) { Key(name), String(value); }
  void Field(std::string_view name, const char* value) { Key(name), String(value); }
  /// Nothing where there is no value.
  template <typename Value>
  void Field(std::string_view name, const std::optional<Value>& value) {
    if (value) Field(name, *value);
  }
  /// Nothing where it is empty.
  void FieldUnlessEmpty(std::string_view name, std::string_view value) {
    if (!value.empty()) Field(name, value);
  }
  void FieldUnlessEmpty(std::string_view name, const std::vector<int>& values) {
    if (!values.empty()) Key(name), Ints(values);
  }

  const std::string& text() const { return text_; }
  std::string Take() { return std::move(text_); }

 private:
  void Open(char bracket);
  void Close(char bracket);
  void Separate();

  std::string text_;
  bool needs_comma_ = false;
};

/// `text` with U+FFFD for every byte that is no part of a UTF-8 character.
std::string ToUtf8(std::string_view text);

}  // namespace detcheck
