#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace detcheck {

/// One value of a server's JSON. Reading is lenient: what is not there, or is of another kind, is
/// absent or empty, so that adapters name what they miss in their own words.
class JsonNode {
 public:
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };
  using Member = std::pair<std::string, JsonNode>;

  Kind kind() const { return kind_; }
  bool IsNull() const { return kind_ == Kind::kNull; }
  bool IsArray() const { return kind_ == Kind::kArray; }
  bool IsObject() const { return kind_ == Kind::kObject; }

  std::optional<bool> Bool() const;
  /// Of a number: the nearest double. One beyond a double's range makes the whole text an error.
  std::optional<double> Double() const;
  /// Of a number written as an integer that fits.
  std::optional<int64_t> Int64() const;
  /// Of a string: its bytes. May hold invalid UTF-8 (ParsedJson::invalid_utf8).
  std::optional<std::string_view> String() const;
  /// Of a number: its text as it was sent (an integer of up to 64 bits: its shortest form); of a
  /// string: its bytes; else empty.
  const std::string& raw() const { return text_; }

  /// Elements of an array; empty for anything else.
  const std::vector<JsonNode>& items() const { return items_; }
  /// Members of an object, in their order; empty for anything else.
  const std::vector<Member>& members() const { return members_; }
  /// The member of that name (the last one where it is repeated), or null.
  const JsonNode* Find(std::string_view name) const;
  /// Find, over several levels; null where one is missing.
  const JsonNode* FindPath(std::initializer_list<std::string_view> names) const;

 private:
  friend class JsonTreeBuilder;

  Kind kind_ = Kind::kNull;
  bool bool_ = false;
  double number_ = 0.0;
  std::string text_;
  std::vector<JsonNode> items_;
  std::vector<Member> members_;
};

struct JsonOptions {
  bool refuse_duplicates = false;  ///< A name that is repeated in an object is an error.
  int max_depth = 64;
};

struct ParsedJson {
  JsonNode root;
  std::string error;  ///< Empty: `root` holds. Else one line with the place (a byte offset).
  bool invalid_utf8 = false;  ///< In a string, whose bytes are kept as they are.

  bool ok() const { return error.empty(); }
};

/// Reads one JSON value (RFC 8259) with nothing but white space around it. Numbers keep their text.
ParsedJson ParseJson(std::string_view text, const JsonOptions& options = {});

}  // namespace detcheck
