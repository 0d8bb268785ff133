#include "engine/remote/json_node.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "engine/base/utf8.h"

namespace detcheck {
namespace {

// The library refuses strings that are not UTF-8. For it each malformed byte becomes one code point
// of a block that no text uses, U+10FF00 and the byte; in the tree it becomes the byte again.
constexpr std::string_view kStandInStart = "\xF4\x8F";
constexpr size_t kStandInLen = 4;

std::string WithStandIns(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t len = Utf8SequenceLen(text);
    if (len > 0) {
      result += text.substr(0, len);
    } else {
      const auto byte = static_cast<unsigned char>(text[0]);
      result += kStandInStart;
      result += static_cast<char>(0xBC | (byte >> 6));
      result += static_cast<char>(0x80 | (byte & 0x3F));
    }
    text.remove_prefix(len > 0 ? len : 1);
  }
  return result;
}

void RemoveStandIns(std::string* text) {
  for (size_t at = text->find(kStandInStart); at != std::string::npos;
       at = text->find(kStandInStart, at + 1)) {
    const auto third = static_cast<unsigned char>((*text)[at + 2]);
    const auto fourth = static_cast<unsigned char>((*text)[at + 3]);
    if (third < 0xBE) continue;  // Only bytes of 0x80 and above are ever malformed.
    text->replace(at, kStandInLen, 1, static_cast<char>((third & 0x03) << 6 | (fourth & 0x3F)));
  }
}

}  // namespace

/// Builds the tree from the library's events.
class JsonTreeBuilder {
 public:
  JsonTreeBuilder(const JsonOptions& options, bool has_stand_ins, JsonNode* root)
      : options_(options), has_stand_ins_(has_stand_ins), root_(root) {}

  const std::string& error() const { return error_; }

  // What nlohmann::json::sax_parse calls.
  bool null() { return Add(JsonNode::Kind::kNull) != nullptr; }
  bool boolean(bool value) {
    Add(JsonNode::Kind::kBool)->bool_ = value;
    return true;
  }
  bool number_integer(int64_t value) {
    return Number(static_cast<double>(value), std::to_string(value));
  }
  bool number_unsigned(uint64_t value) {
    return Number(static_cast<double>(value), std::to_string(value));
  }
  bool number_float(double value, const std::string& text) { return Number(value, text); }
  bool string(std::string& value) {
    if (has_stand_ins_) RemoveStandIns(&value);
    Add(JsonNode::Kind::kString)->text_ = std::move(value);
    return true;
  }
  bool binary(nlohmann::json::binary_t&) { return false; }
  bool start_object(size_t) { return Open(JsonNode::Kind::kObject); }
  bool start_array(size_t) { return Open(JsonNode::Kind::kArray); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool key(std::string& name) {
    if (has_stand_ins_) RemoveStandIns(&name);
    auto& members = open_.back()->members_;
    if (options_.refuse_duplicates && open_.back()->Find(name) != nullptr) {
      error_ = "duplicate name \"" + name + "\"";
      return false;
    }
    members.emplace_back(std::move(name), JsonNode());
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception& error) {
    constexpr int kNumberOverflow = 406;
    error_ =
        (error.id == kNumberOverflow ? "a number beyond a double at byte " : "not JSON at byte ") +
        std::to_string(position);
    return false;
  }

 private:
  JsonNode* Add(JsonNode::Kind kind) {
    JsonNode* node = root_;
    if (!open_.empty()) {
      JsonNode* parent = open_.back();
      node = parent->IsObject() ? &parent->members_.back().second : &parent->items_.emplace_back();
    }
    node->kind_ = kind;
    return node;
  }
  bool Number(double value, std::string text) {
    JsonNode* node = Add(JsonNode::Kind::kNumber);
    node->number_ = value;
    node->text_ = std::move(text);
    return true;
  }
  bool Open(JsonNode::Kind kind) {
    if (open_.size() >= static_cast<size_t>(options_.max_depth)) {
      error_ = "more than " + std::to_string(options_.max_depth) + " levels";
      return false;
    }
    open_.push_back(Add(kind));
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  const JsonOptions& options_;
  bool has_stand_ins_;
  JsonNode* root_;
  /// From the root to the value that is being read. A parent gains no element while one of its
  /// children is open, so the pointers stay good.
  std::vector<JsonNode*> open_;
  std::string error_;
};

std::optional<bool> JsonNode::Bool() const {
  if (kind_ != Kind::kBool) return std::nullopt;
  return bool_;
}

std::optional<double> JsonNode::Double() const {
  if (kind_ != Kind::kNumber) return std::nullopt;
  return number_;
}

std::optional<int64_t> JsonNode::Int64() const {
  if (kind_ != Kind::kNumber) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
  if (error != std::errc() || end != text_.data() + text_.size()) return std::nullopt;
  return value;
}

std::optional<std::string_view> JsonNode::String() const {
  if (kind_ != Kind::kString) return std::nullopt;
  return text_;
}

const JsonNode* JsonNode::Find(std::string_view name) const {
  for (auto member = members_.rbegin(); member != members_.rend(); ++member) {
    if (member->first == name) return &member->second;
  }
  return nullptr;
}

const JsonNode* JsonNode::FindPath(std::initializer_list<std::string_view> names) const {
  const JsonNode* node = this;
  for (const std::string_view name : names) {
    node = node->Find(name);
    if (node == nullptr) return nullptr;
  }
  return node;
}

ParsedJson ParseJson(std::string_view text, const JsonOptions& options) {
  ParsedJson parsed;
  parsed.invalid_utf8 = !IsUtf8(text);
  JsonTreeBuilder builder(options, parsed.invalid_utf8, &parsed.root);
  const std::string replaced = parsed.invalid_utf8 ? WithStandIns(text) : std::string();
  const std::string_view input = parsed.invalid_utf8 ? replaced : text;
  if (!nlohmann::json::sax_parse(input.begin(), input.end(), &builder)) {
    parsed.error = builder.error();
    parsed.root = JsonNode();
  }
  return parsed;
}

}  // namespace detcheck
