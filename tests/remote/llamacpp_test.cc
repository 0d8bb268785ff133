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
  EXPECT_EQ(ReadAll(*Llamacpp(), {End(R"(, "tokens_predicted": 7)")}).counted_tokens, 7);
}

TEST(Llamacpp, AnAnswerInTheShapeOfBuild11434) {
  const Answer answer = ReadAll(
      *Llamacpp(),
      {R"({"index":0,"content":" the","tokens":[260],"stop":false,"id_slot":-1,"tokens_predicted":1,"tokens_evaluated":3,
           "completion_probabilities":[{"id":260,"token":" the","bytes":[32,116,104,101],"logprob":-1.847474455833435,
           "top_logprobs":[{"id":260,"token":" the","bytes":[32,116,104,101],"logprob":-1.847474455833435},
           {"id":4649,"token":" France","bytes":[32,70,114,97,110,99,101],"logprob":-2.9547629356384277}]}]})",
       R"({"index":0,"content":"","tokens":[],"id_slot":7,"stop":true,"model":"smollm2.gguf","tokens_predicted":1,
           "tokens_evaluated":3,"generation_settings":{"seed":42,"temperature":0.0,"top_k":1,"top_p":1.0,"min_p":0.0,
           "repeat_penalty":1.0,"logit_bias":[{"bias":null,"token":0},{"bias":null,"token":2}],"samplers":["temperature"]},
           "prompt":"The great is","has_new_line":false,"truncated":false,"stop_type":"limit","stopping_word":"",
           "tokens_cached":3,"timings":{"cache_n":0,"prompt_n":3,"prompt_ms":7321.108,"predicted_n":1}})"});
  EXPECT_EQ(answer.error, "");
  EXPECT_THAT(answer.token_ids, ElementsAre(260));
  EXPECT_EQ(answer.logprobs.at(0).top.at(1).id, 4649);
  EXPECT_EQ(answer.finish, FinishReason::kLength);
  EXPECT_EQ(answer.cached_tokens, 0);
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
  EXPECT_TRUE(load.counts_starting);
}

TEST(Llamacpp, SlotsWithoutATokenMayWaitForTheirTurn) {
  const auto slot = [](const std::string& next_token) {
    return R"({"id": 0, "n_ctx": 4096, "speculative": false, "is_processing": true, "id_task": 3,
               "next_token": )" +
           next_token + "}";
  };
  const auto read = [](const std::string& one, const std::string& other) {
    return Llamacpp()->ReadLoad("[" + one + ", " + other + "]");
  };
  const LoadSample load =
      read(slot(R"([{"has_next_token": true, "n_remain": 9, "n_decoded": 7}])"),
           slot(R"([{"has_next_token": true, "n_remain": 16, "n_decoded": 0}])"));
  EXPECT_EQ(load.running, 1);
  EXPECT_EQ(load.total, 2);
  EXPECT_FALSE(load.counts_starting);
  EXPECT_EQ(read(slot(R"({"n_decoded": 1})"), slot(R"({"n_decoded": 0})")).running, 1)
      << "as older builds have it";
  EXPECT_TRUE(read(slot("null"), slot(R"({"n_decoded": 0})")).counts_starting);
}

}  // namespace
}  // namespace detcheck
