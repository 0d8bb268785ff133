#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backend.h"
#include "engine/remote/json_node.h"

namespace detcheck {

/// A value as a manifest may show it: paths by their last part, without private names, at most 200
/// bytes; "true" and "false"; empty for null, objects, arrays and no node.
std::string ClaimText(const JsonNode* value);

/// A whole number that fits an int, at least `least`; else absent.
std::optional<int> ClaimedInt(const JsonNode* value, int least = 1);

/// Collects what a server says of itself. What it does not say is not added.
class Claims {
 public:
  void Add(std::string_view name, std::string value);
  void Add(std::string_view name, const JsonNode* value) { Add(name, ClaimText(value)); }
  void Add(std::string_view name, std::optional<int> value);
  /// "off" where true, "on" where false.
  void AddOffWhere(std::string_view name, const JsonNode* disabled);
  /// A hub ID ("OWNER/NAME") as model.id and model.name, a path as model.name.
  void AddModel(std::string_view path);
  /// Members of `object` that `allowed` names and that have a value, as "name=value, …".
  void AddArguments(const JsonNode& object, const std::vector<std::string_view>& allowed);

  const Manifest& manifest() const { return manifest_; }

 private:
  Manifest manifest_;
};

}  // namespace detcheck
