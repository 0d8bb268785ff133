#include "reports/criteria/schema_check.h"

#include <gtest/gtest.h>

#include "tests/fixtures/error_of.h"

namespace detcheck {
namespace {

#ifdef DETCHECK_JSON_SCHEMA

constexpr char kAnswer[] = R"({
  "$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object",
  "additionalProperties": false,
  "required": ["city", "degrees"],
  "properties": {
    "city": {"type": "string", "minLength": 1},
    "degrees": {"type": "number", "minimum": -90, "maximum": 60},
    "parts": {"type": "array", "items": {"$ref": "#"}}}})";

TextFinding Check(const std::string& schema, const std::string& text) {
  return MakeSchemaCheck(schema, "s.json")->Check(text);
}

std::string Failure(const std::string& schema) {
  return ErrorOf([&] { MakeSchemaCheck(schema, "s.json"); }, ErrorCode::kInput);
}

TEST(SchemaCheck, Accepts) {
  EXPECT_EQ(Check(kAnswer, R"({"city": "Oslo", "degrees": -3.5})"),
            (TextFinding{Validity::kValid, ""}));
  EXPECT_EQ(Check(kAnswer,
                  "\n {\"city\":\"O\",\"degrees\":1,"
                  "\"parts\":[{\"city\":\"P\",\"degrees\":2}]}\n")
                .validity,
            Validity::kValid);
  EXPECT_EQ(Check("true", "[1]").validity, Validity::kValid);
}

TEST(SchemaCheck, Refuses) {
  const auto why = [](const std::string& text) {
    const TextFinding finding = Check(kAnswer, text);
    EXPECT_EQ(finding.validity, Validity::kInvalid) << text;
    EXPECT_EQ(finding.why.find('\n'), std::string::npos);
    return finding.why;
  };
  EXPECT_EQ(why(R"({"city": "Oslo"})"), "<root>: Missing required property 'degrees'.");
  EXPECT_EQ(why("{\"city\": \"Oslo\", \"degrees\": 1"),
            "not JSON: line 1, column 30: unexpected end of input; expected '}'");
  EXPECT_EQ(why(R"(Here it is: {"city": "Oslo"})").substr(0, 28), "not JSON: line 1, column 1: ");
  EXPECT_EQ(why(R"({"city": "Oslo", "city": "Bergen", "degrees": 1})"),
            "not JSON: duplicate field \"city\"");
  EXPECT_NE(why(R"({"city": "", "degrees": 1})"), "");
  EXPECT_NE(why(R"({"city": "O", "degrees": 61})"), "");
  EXPECT_NE(why(R"({"city": "O", "degrees": 1, "x": 1})"), "");
  EXPECT_NE(why(R"({"city": "O", "degrees": 1, "parts": [{"city": 1}]})"), "");
  EXPECT_NE(why(""), "");
  EXPECT_EQ(Check("false", "1").validity, Validity::kInvalid);
}

// Keywords that are checked here, each with a text that only it refuses.
TEST(SchemaCheck, EveryKeywordBites) {
  const std::pair<const char*, const char*> kRefused[] = {
      {R"({"additionalItems":false,"items":[{}]})", "[1,2]"},
      {R"({"additionalProperties":{"type":"string"}})", R"({"a":1})"},
      {R"({"contains":{"const":1}})", "[2]"},
      {R"({"items":{"type":"string"}})", "[1]"},
      {R"({"propertyNames":{"maxLength":1}})", R"({"ab":1})"},
      {R"({"allOf":[{"type":"string"}]})", "1"},
      {R"({"anyOf":[{"type":"string"}]})", "1"},
      {R"({"oneOf":[{"type":"number"},{"minimum":0}]})", "1"},
      {R"({"not":{"type":"number"}})", "1"},
      {R"({"if":{"minimum":0},"then":{"maximum":5},"else":{"multipleOf":2}})", "6"},
      {R"({"if":{"minimum":0},"then":{"maximum":5},"else":{"multipleOf":2}})", "-3"},
      {R"({"dependencies":{"a":["b"]}})", R"({"a":1})"},
      {R"({"patternProperties":{"^a":{"type":"string"}}})", R"({"ab":1})"},
      {R"({"definitions":{"d":{"type":"string"}},"$ref":"#/definitions/d"})", "1"},
      {R"({"const":[1]})", "[2]"},
      {R"({"enum":["a","b"]})", "\"c\""},
      {R"({"exclusiveMaximum":5})", "5"},
      {R"({"exclusiveMinimum":5})", "5"},
      {R"({"format":"date"})", "\"2026-13-01\""},
      {R"({"maxItems":1})", "[1,2]"},
      {R"({"maxLength":1})", "\"ab\""},
      {R"({"maxProperties":0})", R"({"a":1})"},
      {R"({"maximum":1})", "2"},
      {R"({"minItems":1})", "[]"},
      {R"({"minLength":1})", "\"\""},
      {R"({"minProperties":1})", "{}"},
      {R"({"minimum":1})", "0"},
      {R"({"multipleOf":2})", "3"},
      {R"({"pattern":"^a"})", "\"b\""},
      {R"({"required":["a"]})", "{}"},
      {R"({"type":"integer"})", "1.5"},
      {R"({"type":["integer","null"]})", "\"1\""},
      {R"({"uniqueItems":true})", "[1,1]"},
  };
  for (const auto& [schema, text] : kRefused) {
    EXPECT_EQ(Check(schema, text).validity, Validity::kInvalid) << schema << ' ' << text;
  }
}

TEST(SchemaCheck, SchemasThatAreWrong) {
  EXPECT_EQ(Failure("{"),
            "s.json: line 1, column 2: unexpected end of input; expected string literal");
  EXPECT_EQ(Failure(R"({"properties":{"a":{"typ":"string"}}})"),
            "s.json: properties.a.typ: is no keyword that is checked here (JSON Schema draft 7)");
  EXPECT_EQ(Failure(R"({"prefixItems":[{}]})"),
            "s.json: prefixItems: is no keyword that is checked here (JSON Schema draft 7)");
  EXPECT_EQ(Failure(R"({"$schema":"https://json-schema.org/draft/2020-12/schema"})"),
            "s.json: $schema: \"https://json-schema.org/draft/2020-12/schema\" is not read here, "
            "only draft 7");
  EXPECT_EQ(Failure(R"({"items":{"format":"email"}})"),
            "s.json: items.format: \"email\" is not checked here, only date, time and date-time");
  EXPECT_EQ(Failure(R"({"anyOf":[{"pattern":"("}]})"),
            "s.json: anyOf[0].pattern: \"(\" is no regular expression");
  EXPECT_NE(Failure(R"({"type":"text"})"), "no error");
  EXPECT_NE(Failure("[]"), "no error");
}

TEST(SchemaCheck, ReferencesThatLeadNowhere) {
  EXPECT_EQ(Failure(R"({"$ref":"#"})"), "s.json: $ref: leads back to itself");
  EXPECT_EQ(Failure(R"({"definitions":{"a":{"allOf":[{"$ref":"#/definitions/b"}]},)"
                    R"("b":{"$ref":"#/definitions/a"}}})"),
            "s.json: definitions.a.allOf[0].$ref: leads back to itself");
  EXPECT_EQ(Failure(R"({"$ref":"#/definitions/none"})"),
            "s.json: $ref: \"#/definitions/none\" points to nothing in the file");
  EXPECT_EQ(Failure(R"({"$ref":"other.json"})"),
            "s.json: $ref: \"other.json\" points out of the file");
  EXPECT_EQ(Failure(R"({"$ref":"#/definitions/a","maximum":1,"definitions":{"a":true}})"),
            "s.json: $ref: beside it \"maximum\" would not be looked at (draft 7)");
}

TEST(SchemaCheck, LongTextsAreNotMatchedAgainstPatterns) {
  const std::string text = '"' + std::string(20'000, 'a') + '"';
  EXPECT_EQ(
      Check(R"({"pattern":"^a*$"})", text),
      (TextFinding{Validity::kUnknown, "more than 16384 bytes are not matched against patterns"}));
  EXPECT_EQ(Check(R"({"minLength":20000})", text).validity, Validity::kValid);
  EXPECT_EQ(Check(R"({"pattern":"^(a|b)*$"})", '"' + std::string(16'000, 'a') + '"').validity,
            Validity::kValid);
}

#else

TEST(SchemaCheck, WithoutTheLibraryOneLineSaysSo) {
  EXPECT_EQ(ErrorOf([] { MakeSchemaCheck("true", "s.json"); }, ErrorCode::kUsage),
            "criterion json_schema:s.json: this build has no JSON Schema validator; it needs "
            "valijson (Debian's libvalijson-dev)");
}

#endif

}  // namespace
}  // namespace detcheck
