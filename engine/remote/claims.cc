#include "engine/remote/claims.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "engine/base/private_names.h"
#include "engine/remote/server_error.h"

namespace detcheck {
namespace {

constexpr size_t kMostBytes = 200;

/// "OWNER/NAME" as the hub has it, and no path.
bool IsHubId(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == text.size()) return false;
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) {
                       return std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == '/';
                     }) &&
         text.find('/', slash + 1) == std::string_view::npos && text.front() != '.';
}

}  // namespace

std::string ClaimText(const JsonNode* value) {
  if (value == nullptr) return "";
  if (const auto flag = value->Bool()) return *flag ? "true" : "false";
  if (value->kind() == JsonNode::Kind::kNumber) return value->raw();
  return Shown(value->String().value_or(""), "").substr(0, kMostBytes);
}

std::optional<int> ClaimedInt(const JsonNode* value, int least) {
  const auto number = value == nullptr ? std::nullopt : value->Int64();
  if (!number || *number < least || *number > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(*number);
}

void Claims::Add(std::string_view name, std::string value) {
  if (value.empty()) return;
  manifest_.push_back({std::string(name), std::move(value), FieldSource::kClaimed});
}

void Claims::Add(std::string_view name, std::optional<int> value) {
  if (value) Add(name, std::to_string(*value));
}

void Claims::AddOffWhere(std::string_view name, const JsonNode* disabled) {
  const auto off = disabled == nullptr ? std::nullopt : disabled->Bool();
  if (off) Add(name, *off ? "off" : "on");
}

void Claims::AddModel(std::string_view path) {
  if (path.empty()) return;
  Add("model.name", PublicName(path));
  if (IsHubId(path)) Add("model.id", WithoutPrivateNames(path));
}

void Claims::AddArguments(const JsonNode& object, const std::vector<std::string_view>& allowed) {
  std::string arguments;
  for (const std::string_view name : allowed) {
    const std::string value = ClaimText(object.Find(name));
    if (value.empty()) continue;
    arguments += (arguments.empty() ? "" : ", ") + std::string(name) + "=" + value;
  }
  Add("engine.arguments", std::move(arguments));
}

}  // namespace detcheck
