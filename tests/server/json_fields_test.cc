#include "engine/server/json_fields.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "engine/server/http_types.h"
#include "engine/server/sampling_fields.h"

namespace detcheck {
namespace {

std::string WhyRefused(const std::function<void()>& call) {
  try {
    call();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status(), 400);
    return error.what();
  }
  return "";
}

TEST(JsonFieldsTest, NullIsAbsent) {
  const JsonBody body(R"({"a": null, "b": 2})");
  EXPECT_EQ(body.fields().Whole("a", 7, 0, 9), 7);
  EXPECT_EQ(body.fields().Whole("b", 7, 0, 9), 2);
  EXPECT_FALSE(body.fields().Has("a"));
}

TEST(JsonFieldsTest, DeepBodiesAreRefused) {
  const auto nested = [](size_t num_levels) {
    return R"({"a": )" + std::string(num_levels, '[') + std::string(num_levels, ']') + "}";
  };
  EXPECT_EQ(WhyRefused([&] { JsonBody body(nested(60)); }), "");
  // Far more would end the process where they are copied.
  for (const size_t num_levels : {70, 3'000'000}) {
    EXPECT_EQ(WhyRefused([&] { JsonBody body(nested(num_levels)); }),
              "the body has more than 64 levels");
  }
}

TEST(JsonFieldsTest, NumbersAreWholeAndInTheirRange) {
  const JsonBody body(
      R"({"half": 0.5, "whole": 3.0, "text": "3", "large": 18446744073709551615, "huge": 1e300})");
  const JsonFields fields = body.fields();
  EXPECT_EQ(fields.Whole("whole", 0, 0, 9), 3);
  for (const char* name : {"half", "text", "large", "huge"}) {
    EXPECT_EQ(WhyRefused([&] { fields.Whole(name, 0, 0, 9); }),
              std::string(name) + " is not a whole number from 0 to 9");
  }
  EXPECT_EQ(WhyRefused([&] { fields.Real("text", 0, 0, 1); }),
            "text is not a number from 0.0 to 1.0");
}

TEST(JsonFieldsTest, TokenIdsAreOfTheVocabulary) {
  using nlohmann::json;
  EXPECT_EQ(ReadTokenIds(json{0, 9}, "x", 10), (std::vector<TokenId>{0, 9}));
  EXPECT_EQ(WhyRefused([] {
              ReadTokenIds(json{0, 10}, "x", 10);
            }),
            "x[1] is 10, outside the vocabulary of 10");
  EXPECT_EQ(WhyRefused([] { ReadTokenIds(json{4294967296}, "x", 10); }),
            "x[0] is 4294967296, outside the vocabulary of 10");
  EXPECT_EQ(WhyRefused([] { ReadTokenIds(json{1.0}, "x", 10); }), "x[0] is not a token ID");
  EXPECT_EQ(WhyRefused([] { ReadTokenIds(json::array(), "x", 10); }), "x is empty");
}

TEST(SamplingFieldsTest, WordsOfBothServersForOffAreKnown) {
  for (const char* top_k : {"-1", "0", "1073741824", "4294967296", "null"}) {
    const JsonBody body(std::string(R"({"top_k": )") + top_k + "}");
    const int expected = std::string(top_k) == "1073741824" ? 1 << 30 : -1;
    EXPECT_EQ(ReadSampling(body.fields(), 1e-6).top_k, expected) << top_k;
  }
  EXPECT_EQ(ReadSampling(JsonBody("{}").fields(), 1e-6).temperature, 1.0);
  EXPECT_EQ(ReadSampling(JsonBody(R"({"temperature": 9e-7})").fields(), 1e-6).temperature, 0.0);
}

TEST(SamplingFieldsTest, WhatTheEngineLacksIsRefusedUnlessItIsNeutral) {
  const auto read = [](const std::string& text) {
    return WhyRefused([&] { ReadSampling(JsonBody(text).fields(), 1e-6); });
  };
  EXPECT_EQ(read(R"({"n": 1, "stop": [], "stop_token_ids": null, "repetition_penalty": 1.0})"), "");
  for (const char* text : {R"({"n": 2})", R"({"stop": "x"})", R"({"presence_penalty": 0.1})",
                           R"({"logit_bias": {"5": 1}})", R"({"repetition_penalty": 1.1})"}) {
    EXPECT_NE(read(text), "") << text;
  }
}

}  // namespace
}  // namespace detcheck
