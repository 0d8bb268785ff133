#pragma once

// Internal: included only from the .cc files that read tokenizer.json.

#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace detcheck {

/// One value of a JSON file: a view, valid as long as what it was made from. Every failure throws
/// Error(kInput), one line: "FILE: model.vocab: fact". A null field counts as absent.
class JsonPlace {
 public:
  /// `place` is empty for the whole file.
  JsonPlace(const nlohmann::json& node, std::string file, std::string place)
      : node_(&node), file_(std::move(file)), place_(std::move(place)) {}

  [[noreturn]] void Fail(const std::string& fact) const;

  const nlohmann::json& node() const { return *node_; }
  const std::string& file() const { return file_; }

  /// Refuses what is not an object, and an object with any other field than these.
  void CheckFields(std::initializer_list<std::string_view> fields) const;
  JsonPlace At(const char* field) const;
  std::optional<JsonPlace> Find(const char* field) const;
  /// Of a list; any other value is refused.
  std::vector<JsonPlace> Items() const;

  const std::string& String() const;
  bool Bool() const;
  bool BoolOr(const char* field, bool absent) const;
  /// An integer in [low, high].
  int Int(int low, int high) const;

 private:
  const nlohmann::json* node_;
  std::string file_;
  std::string place_;
};

/// Parses `text` strictly: RFC 8259, no field twice in one object, at most 64 levels. Throws
/// Error(kInput): "FILE: byte 7: not valid JSON", "FILE: "x" appears twice".
nlohmann::json ParseJsonFile(std::string_view text, const std::string& file);

/// A value of the file as messages show it: one line, quoted, cut where it is long.
std::string Shown(const nlohmann::json& value);

}  // namespace detcheck
