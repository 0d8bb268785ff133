#include "engine/remote/llamacpp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/remote/adapter_testing.h"

namespace detcheck {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Token(int id, double logprob) {
  const std::string entry = "{\"id\": " + std::to_string(id) +
                            ", \"token\": \"x\", \"logprob\": " + std::to_string(logprob);
  return "{\"index\": 0, \"content\": \"x\", \"tokens\": [" + std::to_string(id) +
         "], \"stop\": false, \"completion_probabilities\": [" + entry + ", \"top_logprobs\": [" +
         entry + "}, {\"id\": 3, \"logprob\": -9.0}]}]}";
}

std::string End(const std::string& more) {
  return R"({"content": "", "tokens": [], "stop": true, "stop_type": "limit", "tokens_evaluated": 3,
             "tokens_cached": 4, "timings": {"cache_n": 0, "prompt_n": 3})" +
         more + "}";
}

std::unique_ptr<Adapter> Llamacpp() {
  return MakeLlamacppAdapter({});
}

TEST(Llamacpp, TokensLogprobsAndTheEnd) {
  const Answer answer = ReadAll(*Llamacpp(), {Token(5, -0.5), Token(6, -0.25), End("")});
  EXPECT_EQ(answer.error, "");
  EXPECT_THAT(answer.token_ids, ElementsAre(5, 6));
  EXPECT_EQ(answer.logprobs[1].logprob, -0.25);
  EXPECT_EQ(answer.finish, FinishReason::kLength);
  EXPECT_EQ(answer.prompt_tokens, 3);
  EXPECT_EQ(answer.cached_tokens, 0) << "cache_n, not tokens_cached";
}

TEST(Llamacpp, TokensWithoutProbabilitiesAreAnErrorWhereTheyWereAskedFor) {
  const char* event = R"({"content": "x", "tokens": [5], "stop": false})";
  EXPECT_THAT(ReadAll(*Llamacpp(), {event}).error, HasSubstr("completion_probabilities"));
  EXPECT_EQ(ReadAll(*Llamacpp(), {event}, TwoTokens(std::nullopt)).error, "");
}

TEST(Llamacpp, APromptThatWasCut) {
  EXPECT_THAT(ReadAll(*Llamacpp(), {End(R"(, "truncated": true)")}).error, HasSubstr("cut"));
}

TEST(Llamacpp, SettingsThatWereNotAskedFor) {
  EXPECT_THAT(
      ReadAll(*Llamacpp(), {End(R"(, "generation_settings": {"temperature": 0.800000011920929})")})
          .error,
      HasSubstr("temperature 0.8"));
  Request request = TwoTokens();
  request.sampling.temperature = 0.8;
  EXPECT_EQ(
      ReadAll(*Llamacpp(), {End(R"(, "generation_settings": {"temperature": 0.800000011920929})")},
              request)
          .error,
      "")
      << "echoed as float32";
}

TEST(Llamacpp, ErrorsInsideAStream) {
  EXPECT_THAT(
      ReadAll(*Llamacpp(),
              {R"({"error": {"code": 500, "message": "Compute error.", "type": "server_error"}})"})
          .error,
      HasSubstr("Compute error"));
}

TEST(Llamacpp, TheCacheWishIsAParameter) {
  Request request = TwoTokens();
  EXPECT_EQ(BodyOf(*Llamacpp(), request).Find("cache_prompt")->Bool(), true);
  request.cache = CacheWish::kBypass;
  EXPECT_EQ(BodyOf(*Llamacpp(), request).Find("cache_prompt")->Bool(), false);
}

TEST(Llamacpp, GreedyAndSamplingSayAllTheySample) {
  Request request = TwoTokens();
  JsonNode body = BodyOf(*Llamacpp(), request);
  EXPECT_EQ(body.Find("top_k")->Int64(), 1);
  EXPECT_EQ(body.Find("samplers")->items().size(), 1u);
  request.sampling.temperature = 0.8;
  body = BodyOf(*Llamacpp(), request);
  EXPECT_EQ(body.Find("top_k")->Int64(), 0) << "off is 0 here, not -1";
  EXPECT_EQ(body.Find("samplers")->items().size(), 4u);
}

TEST(Llamacpp, WhatItCannotDoIsRefused) {
  Request request = TwoTokens();
  request.sampling.temperature = 0.8;
  request.sampling.seed = 4294967295;
  EXPECT_THAT(Llamacpp()->Refuses(request), HasSubstr("32 bits"));
  EXPECT_THAT(Llamacpp()->Refuses(TwoTokens(0)), HasSubstr("without candidates"));
}

TEST(Llamacpp, LoadFromSlotsOrMetrics) {
  EXPECT_EQ(Llamacpp()->ReadLoad(R"([{"is_processing": true}, {"is_processing": false}])").running,
            1);
  const LoadSample load =
      Llamacpp()->ReadLoad("llamacpp:requests_processing 2\nllamacpp:requests_deferred 1\n");
  EXPECT_EQ(load.running, 2);
  EXPECT_EQ(load.total, 3);
}

}  // namespace
}  // namespace detcheck
