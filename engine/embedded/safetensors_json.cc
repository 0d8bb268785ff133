#include "engine/embedded/safetensors_json.h"

#include <nlohmann/json.hpp>
#include <set>

#include "engine/base/error.h"

namespace detcheck {
namespace {

using Json = nlohmann::json;

[[noreturn]] void Fail(const std::string& path, const std::string& fact) {
  throw Error(ErrorCode::kInput, path + ": " + fact);
}

/// The object in `text`, every key of it and of the objects in it unique. `part` names what `text`
/// is of the file: "header: ", or nothing.
Json ParseObject(std::string_view text, const std::string& path, const std::string& part) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto check = [&](int /*depth*/, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed).second) {
      Fail(path, part + "\"" + NameInMessage(parsed.get<std::string>()) + "\" appears twice");
    }
    return true;
  };
  try {
    Json json = Json::parse(text, check);
    if (json.is_object()) return json;
  } catch (const Json::parse_error& error) {
    Fail(path, part + "byte " + std::to_string(error.byte) + ": not valid JSON");
  } catch (const Json::exception&) {
    Fail(path, part + "not valid JSON: a number is out of range");
  }
  Fail(path, part + "not a JSON object");
}

uint64_t Offset(const Json& offsets, size_t i, const std::string& path, const std::string& place) {
  if (!offsets[i].is_number_unsigned()) {
    Fail(path, place + "data_offsets are not two unsigned integers");
  }
  return offsets[i].get<uint64_t>();
}

HeaderTensor ReadTensor(const std::string& name, const Json& value, const std::string& path) {
  const std::string place = "tensor " + NameInMessage(name) + ": ";
  if (!value.is_object()) Fail(path, place + "not an object");
  for (const auto& [key, unused] : value.items()) {
    if (key != "dtype" && key != "shape" && key != "data_offsets") {
      Fail(path, place + "unknown field \"" + NameInMessage(key) + "\"");
    }
  }
  for (const char* field : {"dtype", "shape", "data_offsets"}) {
    if (!value.contains(field)) Fail(path, place + field + " is missing");
  }
  HeaderTensor tensor;
  tensor.name = name;
  if (!value["dtype"].is_string()) Fail(path, place + "dtype is not a string");
  tensor.dtype = value["dtype"].get<std::string>();
  if (!value["shape"].is_array()) Fail(path, place + "shape is not a list");
  for (const Json& dim : value["shape"]) {
    const bool valid = dim.is_number_unsigned() && dim.get<uint64_t>() <= INT64_MAX;
    if (!valid) Fail(path, place + "shape is not a list of unsigned integers");
    tensor.shape.push_back(dim.get<int64_t>());
  }
  const Json& offsets = value["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2) {
    Fail(path, place + "data_offsets are not two unsigned integers");
  }
  tensor.begin = Offset(offsets, 0, path, place);
  tensor.end = Offset(offsets, 1, path, place);
  return tensor;
}

void CheckMetadata(const Json& metadata, const std::string& path) {
  bool texts = metadata.is_object();
  for (const Json& value : metadata) texts = texts && value.is_string();
  if (!texts) Fail(path, "header: __metadata__ is not an object of strings");
}

}  // namespace

std::vector<HeaderTensor> ParseSafetensorsHeader(std::string_view text, const std::string& path) {
  const Json header = ParseObject(text, path, "header: ");
  std::vector<HeaderTensor> tensors;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") {
      CheckMetadata(value, path);
    } else {
      tensors.push_back(ReadTensor(name, value, path));
    }
  }
  return tensors;
}

std::map<std::string, std::string> ParseSafetensorsIndex(std::string_view text,
                                                         const std::string& path) {
  const Json index = ParseObject(text, path, "");
  const auto found = index.find("weight_map");
  if (found == index.end()) Fail(path, "weight_map: missing");
  if (!found->is_object()) Fail(path, "weight_map: not an object");
  std::map<std::string, std::string> weight_map;
  for (const auto& [name, file_name] : found->items()) {
    if (!file_name.is_string())
      Fail(path, "tensor " + NameInMessage(name) + ": its file is not a string");
    weight_map[name] = file_name.get<std::string>();
  }
  return weight_map;
}

std::string NameInMessage(std::string_view text) {
  std::string printable(text.substr(0, 200));
  for (char& c : printable) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return printable;
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text;
  for (const int64_t dim : shape) text += (text.empty() ? "" : ", ") + std::to_string(dim);
  return "[" + text + "]";
}

}  // namespace detcheck
