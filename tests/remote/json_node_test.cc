#include "engine/remote/json_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

namespace detcheck {
namespace {

using testing::HasSubstr;

JsonNode Parsed(std::string_view text) {
  ParsedJson parsed = ParseJson(text);
  EXPECT_TRUE(parsed.ok()) << text << ": " << parsed.error;
  return std::move(parsed.root);
}

TEST(JsonNodeTest, KindsAndAccess) {
  const JsonNode root =
      Parsed(R"({"a": [null, true, -1.5e-3, "t\u00e9"], "b": {"c": {"d": 7}}, "e": {}})");
  const JsonNode* list = root.Find("a");
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(list->items().size(), 4u);
  EXPECT_TRUE(list->items()[0].IsNull());
  EXPECT_EQ(list->items()[1].Bool(), true);
  EXPECT_EQ(list->items()[2].Double(), -1.5e-3);
  EXPECT_EQ(list->items()[2].raw(), "-1.5e-3");
  EXPECT_EQ(list->items()[3].String(), "té");
  EXPECT_EQ(root.FindPath({"b", "c", "d"})->Int64(), 7);
  EXPECT_EQ(root.FindPath({"b", "x", "d"}), nullptr);
  EXPECT_EQ(list->Find("a"), nullptr);
  EXPECT_EQ(root.members().size(), 3u);
  EXPECT_TRUE(root.Find("e")->IsObject());
}

TEST(JsonNodeTest, OtherKindsAreAbsent) {
  const JsonNode root = Parsed(R"([1.5, "1", true, null])");
  EXPECT_EQ(root.items()[0].Int64(), std::nullopt);
  EXPECT_EQ(root.items()[1].Double(), std::nullopt);
  EXPECT_EQ(root.items()[1].Int64(), std::nullopt);
  EXPECT_EQ(root.items()[2].Double(), std::nullopt);
  EXPECT_EQ(root.items()[2].String(), std::nullopt);
  EXPECT_EQ(root.items()[3].Bool(), std::nullopt);
  EXPECT_TRUE(root.items()[3].items().empty());
}

TEST(JsonNodeTest, NumbersKeepTextAndBits) {
  for (const char* text : {"-0.0", "1e-320", "0.1000000000000000055511151231257827",
                           "-12.345678901234567890123", "18446744073709551616", "2.50", "1E5"}) {
    const JsonNode number = Parsed(text);
    EXPECT_EQ(number.raw(), text);
    EXPECT_EQ(std::bit_cast<uint64_t>(*number.Double()),
              std::bit_cast<uint64_t>(std::strtod(text, nullptr)));
  }
  EXPECT_EQ(Parsed("-9223372036854775808").Int64(), INT64_MIN);
  EXPECT_EQ(Parsed("18446744073709551615").raw(), "18446744073709551615");
  EXPECT_EQ(Parsed("18446744073709551615").Int64(), std::nullopt);
}

TEST(JsonNodeTest, EveryFloatComesBack) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (!std::isfinite(value)) continue;
    char text[64];
    std::snprintf(text, sizeof(text), "%.17g", static_cast<double>(value));
    const auto read = static_cast<float>(*Parsed(text).Double());
    ASSERT_EQ(std::bit_cast<uint32_t>(read), std::bit_cast<uint32_t>(value)) << text;
  }
}

TEST(JsonNodeTest, WhatIsNotJson) {
  for (const char* text : {"", "{", "{\"a\":1,}", "[1 2]", "nul", "{} {}", "01", "NaN", "-Infinity",
                           "\"\n\"", "{\"a\"}", "\"\\ud800\""}) {
    const ParsedJson parsed = ParseJson(text);
    EXPECT_THAT(parsed.error, HasSubstr("not JSON at byte")) << text;
    EXPECT_TRUE(parsed.root.IsNull());
  }
  EXPECT_THAT(ParseJson("[1, 1e999]").error, HasSubstr("beyond a double"));
}

TEST(JsonNodeTest, DepthIsBounded) {
  EXPECT_TRUE(ParseJson(std::string(64, '[') + std::string(64, ']')).ok());
  EXPECT_EQ(ParseJson(std::string(65, '[') + std::string(65, ']')).error, "more than 64 levels");
  EXPECT_EQ(ParseJson(std::string(1000000, '[')).error, "more than 64 levels");
}

TEST(JsonNodeTest, DuplicatesAreRefusedWhereAsked) {
  const std::string text = R"({"a": 1, "b": {"a": 2, "a": 3}})";
  EXPECT_EQ(Parsed(text).FindPath({"b", "a"})->Int64(), 3);
  JsonOptions strict;
  strict.refuse_duplicates = true;
  EXPECT_EQ(ParseJson(text, strict).error, "duplicate name \"a\"");
  EXPECT_TRUE(ParseJson(R"({"a": {"a": 1}})", strict).ok());
}

TEST(JsonNodeTest, InvalidUtf8IsKeptAndTold) {
  const std::string text = "{\"t\\u00e9xt\": \"a\xFF\xC3\x80 \xE2\x82 é\", \"b\": \"\x80\"}";
  const ParsedJson parsed = ParseJson(text);
  ASSERT_TRUE(parsed.ok()) << parsed.error;
  EXPECT_TRUE(parsed.invalid_utf8);
  EXPECT_EQ(parsed.root.Find("téxt")->String(), "a\xFF\xC3\x80 \xE2\x82 é");
  EXPECT_EQ(parsed.root.Find("b")->String(), "\x80");
  EXPECT_FALSE(ParseJson("\"é\"").invalid_utf8);
  // Outside of a string it is no JSON.
  EXPECT_FALSE(ParseJson("[\xFF]").ok());
}

}  // namespace
}  // namespace detcheck
