#include "reports/criteria/schema_keywords.h"

#include <array>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string_view>

#include "engine/base/error.h"
#include "fixtures/json_reader.h"

namespace detcheck {
namespace {

using nlohmann::json;

enum class Holds {
  kValue,       // What the validator checks by itself.
  kAnnotation,  // Nothing that is checked.
  kSchema,      // A schema, or a list of them.
  kSchemas,     // Schemas by name.
};

struct Keyword {
  std::string_view name;
  Holds holds;
  bool is_in_place = false;  // Its schemas are about the value itself, not about a part of it.
};

constexpr std::array<Keyword, 45> kKeywords = {{
    {"additionalItems", Holds::kSchema},
    {"additionalProperties", Holds::kSchema},
    {"contains", Holds::kSchema},
    {"items", Holds::kSchema},
    {"propertyNames", Holds::kSchema},
    {"allOf", Holds::kSchema, true},
    {"anyOf", Holds::kSchema, true},
    {"oneOf", Holds::kSchema, true},
    {"not", Holds::kSchema, true},
    {"if", Holds::kSchema, true},
    {"then", Holds::kSchema, true},
    {"else", Holds::kSchema, true},
    {"dependencies", Holds::kSchemas, true},
    {"properties", Holds::kSchemas},
    {"patternProperties", Holds::kSchemas},
    {"definitions", Holds::kSchemas},
    {"$defs", Holds::kSchemas},
    {"$ref", Holds::kValue},
    {"const", Holds::kValue},
    {"enum", Holds::kValue},
    {"exclusiveMaximum", Holds::kValue},
    {"exclusiveMinimum", Holds::kValue},
    {"format", Holds::kValue},
    {"maxItems", Holds::kValue},
    {"maxLength", Holds::kValue},
    {"maxProperties", Holds::kValue},
    {"maximum", Holds::kValue},
    {"minItems", Holds::kValue},
    {"minLength", Holds::kValue},
    {"minProperties", Holds::kValue},
    {"minimum", Holds::kValue},
    {"multipleOf", Holds::kValue},
    {"pattern", Holds::kValue},
    {"required", Holds::kValue},
    {"type", Holds::kValue},
    {"uniqueItems", Holds::kValue},
    {"$comment", Holds::kAnnotation},
    {"$id", Holds::kAnnotation},
    {"$schema", Holds::kAnnotation},
    {"default", Holds::kAnnotation},
    {"description", Holds::kAnnotation},
    {"examples", Holds::kAnnotation},
    {"readOnly", Holds::kAnnotation},
    {"title", Holds::kAnnotation},
    {"writeOnly", Holds::kAnnotation},
}};

constexpr std::array<std::string_view, 3> kFormats = {"date", "time", "date-time"};

const Keyword* Find(const std::string& name) {
  for (const Keyword& keyword : kKeywords) {
    if (keyword.name == name) return &keyword;
  }
  return nullptr;
}

class KeywordCheck {
 public:
  KeywordCheck(const json& root, const std::string& name) : root_(root), name_(name) {}

  SchemaTraits Run() {
    CheckDraft();
    Walk(root_, "");
    return traits_;
  }

 private:
  [[noreturn]] void Fail(const std::string& place, const std::string& fact) const {
    throw Error(ErrorCode::kInput, name_ + ": " + (place.empty() ? "" : place + ": ") + fact);
  }

  void CheckDraft() const {
    if (!root_.is_object() || !root_.contains("$schema")) return;
    const json& draft = root_["$schema"];
    if (draft.is_string() &&
        draft.get<std::string>().find("json-schema.org/draft-07/") != std::string::npos) {
      return;
    }
    Fail("$schema", draft.dump() + " is not read here, only draft 7");
  }

  void Walk(const json& schema, const std::string& place) {
    if (!schema.is_object()) return;  // true, false; anything else the validator refuses
    if (schema.contains("$ref")) CheckReference(schema, place);
    for (const auto& [name, value] : schema.items()) {
      const std::string at = place + (place.empty() ? "" : ".") + name;
      const Keyword* keyword = Find(name);
      if (keyword == nullptr) {
        Fail(at, "is no keyword that is checked here (JSON Schema draft 7)");
      }
      CheckMatching(name, value, at);
      if (keyword->holds == Holds::kSchema || keyword->holds == Holds::kSchemas) {
        WalkAll(value, keyword->holds == Holds::kSchemas, at);
      }
    }
  }

  void WalkAll(const json& value, bool by_name, const std::string& at) {
    if (value.is_object() && !by_name) return Walk(value, at);
    if (!value.is_object() && !value.is_array()) return;
    for (const auto& [name, schema] : value.items()) {
      Walk(schema, value.is_array() ? at + '[' + name + ']' : at + '.' + name);
    }
  }

  void CheckMatching(const std::string& name, const json& value, const std::string& at) {
    if (name == "pattern" && value.is_string()) CheckPattern(value.get<std::string>(), at);
    if (name == "patternProperties" && value.is_object()) {
      for (const auto& [pattern, schema] : value.items()) CheckPattern(pattern, at);
    }
    if (name != "format") return;
    traits_.matches_patterns = true;
    for (const std::string_view format : kFormats) {
      if (value == format) return;
    }
    Fail(at, value.dump() + " is not checked here, only date, time and date-time");
  }

  void CheckPattern(const std::string& pattern, const std::string& at) {
    traits_.matches_patterns = true;
    try {
      const std::regex compiled(pattern);  // as the validator does it
    } catch (const std::regex_error&) {
      Fail(at, Quoted(pattern) + " is no regular expression");
    }
  }

  void CheckReference(const json& schema, const std::string& place) const {
    const std::string at = place + (place.empty() ? "" : ".") + "$ref";
    for (const auto& [name, value] : schema.items()) {
      const Keyword* keyword = Find(name);
      const bool is_silent = name == "$ref" || name == "definitions" || name == "$defs" ||
                             (keyword != nullptr && keyword->holds == Holds::kAnnotation);
      if (!is_silent) Fail(at, "beside it " + Quoted(name) + " would not be looked at (draft 7)");
    }
    std::set<const json*> passed;
    if (LeadsBack(schema, &passed)) Fail(at, "leads back to itself");
  }

  const json& Target(const json& reference) const {
    static const json kNothing;
    if (!reference.is_string()) return kNothing;
    const std::string& text = reference.get_ref<const std::string&>();
    if (!text.starts_with('#')) {
      Fail("$ref", Quoted(text) + " points out of the file");
    }
    try {
      return root_.at(json::json_pointer(text.substr(1)));
    } catch (const json::exception&) {
      Fail("$ref", Quoted(text) + " points to nothing in the file");
    }
  }

  // Whether checking one value against `schema` comes to the same schema, for the same value,
  // again.
  bool LeadsBack(const json& schema, std::set<const json*>* passed) const {
    if (!schema.is_object()) return false;
    if (!passed->insert(&schema).second) return true;
    bool leads_back = false;
    if (const auto reference = schema.find("$ref"); reference != schema.end()) {
      leads_back = LeadsBack(Target(*reference), passed);
    } else {
      for (const auto& [name, value] : schema.items()) {
        const Keyword* keyword = Find(name);
        if (keyword == nullptr || !keyword->is_in_place) continue;
        const bool is_one = value.is_object() && keyword->holds == Holds::kSchema;
        if (is_one && LeadsBack(value, passed)) leads_back = true;
        if (is_one || (!value.is_object() && !value.is_array())) continue;
        for (const json& one : value) leads_back = leads_back || LeadsBack(one, passed);
      }
    }
    passed->erase(&schema);
    return leads_back;
  }

  const json& root_;
  const std::string& name_;
  SchemaTraits traits_;
};

}  // namespace

SchemaTraits CheckSchemaKeywords(const json& schema, const std::string& name) {
  return KeywordCheck(schema, name).Run();
}

}  // namespace detcheck
