#include "engine/tokenizer/json_value.h"

#include <algorithm>
#include <unordered_set>

#include "engine/base/error.h"

namespace detcheck {
namespace {

constexpr int kMostLevels = 64;
constexpr size_t kMostShown = 60;

}  // namespace

void JsonPlace::Fail(const std::string& fact) const {
  throw Error(ErrorCode::kInput, file_ + ": " + (place_.empty() ? "" : place_ + ": ") + fact);
}

void JsonPlace::CheckFields(std::initializer_list<std::string_view> fields) const {
  if (!node_->is_object()) Fail(Shown(*node_) + " is not an object");
  for (const auto& [name, unused] : node_->items()) {
    if (std::find(fields.begin(), fields.end(), name) == fields.end()) {
      Fail("unknown field " + Shown(name));
    }
  }
}

JsonPlace JsonPlace::At(const char* field) const {
  const std::optional<JsonPlace> found = Find(field);
  if (!found) Fail(std::string(field) + " is missing");
  return *found;
}

std::optional<JsonPlace> JsonPlace::Find(const char* field) const {
  const auto found = node_->find(field);
  if (found == node_->end() || found->is_null()) return std::nullopt;
  return JsonPlace(*found, file_, place_.empty() ? field : place_ + "." + field);
}

std::vector<JsonPlace> JsonPlace::Items() const {
  if (!node_->is_array()) Fail(Shown(*node_) + " is not a list");
  std::vector<JsonPlace> items;
  for (size_t i = 0; i < node_->size(); ++i) {
    items.emplace_back((*node_)[i], file_, place_ + "[" + std::to_string(i) + "]");
  }
  return items;
}

const std::string& JsonPlace::String() const {
  if (!node_->is_string()) Fail(Shown(*node_) + " is not a string");
  return node_->get_ref<const std::string&>();
}

bool JsonPlace::Bool() const {
  if (!node_->is_boolean()) Fail(Shown(*node_) + " is not true or false");
  return node_->get<bool>();
}

bool JsonPlace::BoolOr(const char* field, bool absent) const {
  const std::optional<JsonPlace> found = Find(field);
  return found ? found->Bool() : absent;
}

int JsonPlace::Int(int low, int high) const {
  const bool fits = node_->is_number_integer() && *node_ >= low && *node_ <= high;
  if (fits) return node_->get<int>();
  Fail(Shown(*node_) + " is not an integer in " + std::to_string(low) + " .. " +
       std::to_string(high));
}

nlohmann::json ParseJsonFile(std::string_view text, const std::string& file) {
  using Json = nlohmann::json;
  std::vector<std::unordered_set<std::string>> keys;  // of the objects that are open
  const auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMostLevels) {
      throw Error(ErrorCode::kInput,
                  file + ": more than " + std::to_string(kMostLevels) + " levels");
    }
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key &&
        !keys.back().insert(parsed.get_ref<const std::string&>()).second) {
      throw Error(ErrorCode::kInput, file + ": " + Shown(parsed) + " appears twice");
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::parse_error& error) {
    throw Error(ErrorCode::kInput,
                file + ": byte " + std::to_string(error.byte) + ": not valid JSON");
  } catch (const Json::exception&) {
    throw Error(ErrorCode::kInput, file + ": not valid JSON: a number is out of range");
  }
}

std::string Shown(const nlohmann::json& value) {
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > kMostShown) text.replace(kMostShown - 3, std::string::npos, "...");
  return text;
}

}  // namespace detcheck
