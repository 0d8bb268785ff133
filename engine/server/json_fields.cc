#include "engine/server/json_fields.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/server/http_types.h"

namespace detcheck {
namespace {

[[noreturn]] void Refuse(const std::string& what) {
  throw ApiError(400, what);
}

std::string RangeText(int64_t low, int64_t high) {
  if (high == std::numeric_limits<int64_t>::max()) return "at least " + std::to_string(low);
  return "from " + std::to_string(low) + " to " + std::to_string(high);
}

/// Values within values that a body may have; each level of a copy takes some of a thread's stack.
constexpr int kMostLevels = 64;

nlohmann::json Parse(std::string_view text) {
  const auto check = [](int depth, nlohmann::json::parse_event_t /*event*/,
                        nlohmann::json& /*parsed*/) {
    if (depth > kMostLevels) {
      Refuse("the body has more than " + std::to_string(kMostLevels) + " levels");
    }
    return true;
  };
  return nlohmann::json::parse(text, check, /*allow_exceptions=*/false);
}

/// A whole number, 7 or 7.0, that an int64 holds.
std::optional<int64_t> WholeOf(const nlohmann::json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  if (std::trunc(number) != number || std::abs(number) > 9e15) return std::nullopt;
  return static_cast<int64_t>(number);
}

}  // namespace

JsonFields::JsonFields(const nlohmann::json& object, std::string name)
    : object_(&object), name_(std::move(name)) {}

const nlohmann::json* JsonFields::Find(const char* field) const {
  const auto found = object_->find(field);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

bool JsonFields::Has(const char* field) const {
  return Find(field) != nullptr;
}

std::optional<int64_t> JsonFields::MaybeWhole(const char* field, int64_t low, int64_t high) const {
  const nlohmann::json* value = Find(field);
  if (value == nullptr) return std::nullopt;
  const std::optional<int64_t> number = WholeOf(*value);
  if (!number || *number < low || *number > high) {
    Refuse(Name(field) + " is not a whole number " + RangeText(low, high));
  }
  return number;
}

int64_t JsonFields::Whole(const char* field, int64_t absent, int64_t low, int64_t high) const {
  return MaybeWhole(field, low, high).value_or(absent);
}

double JsonFields::Real(const char* field, double absent, double low, double high) const {
  const nlohmann::json* value = Find(field);
  if (value == nullptr) return absent;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!std::isfinite(number) || number < low || number > high) {
    const std::string range =
        high == std::numeric_limits<double>::max()
            ? "of at least " + nlohmann::json(low).dump()
            : "from " + nlohmann::json(low).dump() + " to " + nlohmann::json(high).dump();
    Refuse(Name(field) + " is not a number " + range);
  }
  return number;
}

bool JsonFields::Bool(const char* field, bool absent) const {
  const nlohmann::json* value = Find(field);
  if (value == nullptr) return absent;
  if (!value->is_boolean()) Refuse(Name(field) + " is neither true nor false");
  return value->get<bool>();
}

std::string JsonFields::Text(const char* field, const std::string& absent) const {
  const nlohmann::json* value = Find(field);
  if (value == nullptr) return absent;
  if (!value->is_string()) Refuse(Name(field) + " is not a text");
  return value->get<std::string>();
}

std::optional<JsonFields> JsonFields::Object(const char* field) const {
  const nlohmann::json* value = Find(field);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) Refuse(Name(field) + " is not an object");
  return JsonFields(*value, Name(field) + ".");
}

void JsonFields::RequireNeutral(const char* field, double neutral) const {
  const nlohmann::json* value = Find(field);
  if (value == nullptr || (value->is_number() && value->get<double>() == neutral)) return;
  Refuse(Name(field) + ": this engine has no such thing; only " +
         std::to_string(static_cast<int>(neutral)) + " is taken");
}

void JsonFields::RequireEmpty(const char* field) const {
  const nlohmann::json* value = Find(field);
  if (value == nullptr || (value->is_boolean() && !value->get<bool>())) return;
  if ((value->is_array() || value->is_object()) && value->empty()) return;
  if (value->is_string() && value->get_ref<const std::string&>().empty()) return;
  Refuse(Name(field) + ": this engine has no such thing");
}

void JsonFields::RequireKnown(const std::vector<std::string_view>& known) const {
  for (const auto& [field, value] : object_->items()) {
    if (std::find(known.begin(), known.end(), field) != known.end()) continue;
    Refuse(Name(field) + ": unknown");
  }
}

JsonBody::JsonBody(std::string_view text) : json_(std::make_unique<nlohmann::json>(Parse(text))) {
  if (json_->is_discarded()) Refuse("the body is not JSON");
  if (!json_->is_object()) Refuse("the body is not a JSON object");
}

JsonBody::~JsonBody() = default;
JsonBody::JsonBody(JsonBody&&) noexcept = default;

JsonFields JsonBody::fields() const {
  return JsonFields(*json_, "");
}

std::vector<TokenId> ReadTokenIds(const nlohmann::json& list, const std::string& name,
                                  int vocab_size) {
  if (!list.is_array()) Refuse(name + " is not a list of token IDs");
  if (list.empty()) Refuse(name + " is empty");
  std::vector<TokenId> ids;
  ids.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string place = name + "[" + std::to_string(i) + "]";
    const std::optional<int64_t> id = list[i].is_number_integer() ? WholeOf(list[i]) : std::nullopt;
    if (!id) Refuse(place + " is not a token ID");
    if (*id < 0 || *id >= vocab_size) {
      Refuse(place + " is " + std::to_string(*id) + ", outside the vocabulary of " +
             std::to_string(vocab_size));
    }
    ids.push_back(static_cast<TokenId>(*id));
  }
  return ids;
}

}  // namespace detcheck
