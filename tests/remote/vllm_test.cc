#include "engine/remote/vllm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "tests/remote/adapter_testing.h"

namespace detcheck {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kFirst[] =
    R"({"choices": [{"index": 0, "text": "ab", "token_ids": [5], "finish_reason": null,
        "logprobs": {"tokens": ["token_id:5"], "token_logprobs": [-0.12345678806304932],
                     "top_logprobs": [{"token_id:5": -0.12345678806304932, "token_id:9": -3.0}]}}]})";
constexpr char kSecond[] =
    R"({"system_fingerprint": "f1", "choices": [{"index": 0, "text": "c", "token_ids": [6], "finish_reason": "length",
        "logprobs": {"tokens": ["token_id:6"], "token_logprobs": [-4.0],
                     "top_logprobs": [{"token_id:6": -4.0, "token_id:9": -0.5, "token_id:8": -0.5}]}}]})";
constexpr char kUsage[] =
    R"({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 0}}})";

std::unique_ptr<Adapter> Vllm() {
  return MakeVllmAdapter({});
}

TEST(Vllm, DeltasIdsAndLogprobs) {
  const Answer answer = ReadAll(*Vllm(), {kFirst, kSecond, kUsage});
  EXPECT_EQ(answer.error, "");
  EXPECT_THAT(answer.token_ids, ElementsAre(5, 6));
  ASSERT_EQ(answer.logprobs.size(), 2u);
  EXPECT_EQ(answer.logprobs[0].logprob, -0.12345678806304932);
  ASSERT_EQ(answer.logprobs[1].top.size(), 2u) << "the chosen token is not one of the best two";
  EXPECT_EQ(answer.logprobs[1].top[0].id, 8);
  EXPECT_EQ(answer.text, "abc");
  EXPECT_EQ(answer.prompt_tokens, 3);
  EXPECT_EQ(answer.cached_tokens, 0);
  EXPECT_EQ(answer.counted_tokens, 2);
  EXPECT_EQ(answer.fingerprint, "f1");
}

TEST(Vllm, AnAnswerInTheShapeOfRelease0320) {
  const Answer answer = ReadAll(
      *Vllm(),
      {R"({"id":"cmpl-b218d006168a95f7","object":"text_completion","created":1796005621,"model":"smollm2",
           "choices":[{"index":0,"text":" great","logprobs":{"text_offset":[0],
           "token_logprobs":[-2.15531325340271],"tokens":["token_id:1109"],
           "top_logprobs":[{"token_id:1109":-2.15531325340271,"token_id:3575":-3.40531325340271}]},
           "finish_reason":null,"stop_reason":null,"prompt_token_ids":[504,1109,314],"token_ids":[1109]}]})",
       R"({"id":"cmpl-b218d006168a95f7","object":"text_completion","created":1796005621,"model":"smollm2",
           "choices":[{"index":0,"text":"'","logprobs":{"text_offset":[13],
           "token_logprobs":[-1.024741768836975],"tokens":["token_id:23"],
           "top_logprobs":[{"token_id:23":-1.024741768836975,"token_id:4289":-2.3997416496276855}]},
           "finish_reason":"length","stop_reason":null,"prompt_token_ids":null,"token_ids":[23]}]})",
       R"({"id":"cmpl-b218d006168a95f7","object":"text_completion","created":1796005621,"model":"smollm2","choices":[],
           "usage":{"prompt_tokens":3,"total_tokens":5,"completion_tokens":2,
           "prompt_tokens_details":{"cached_tokens":0}},"system_fingerprint":"vllm-0.32.0-78cd81c7"})"});
  EXPECT_EQ(answer.error, "");
  EXPECT_THAT(answer.token_ids, ElementsAre(1109, 23));
  EXPECT_EQ(answer.logprobs.at(1).top.at(1).id, 4289);
  EXPECT_EQ(answer.finish, FinishReason::kLength);
  EXPECT_EQ(answer.prompt_tokens, 3);
  EXPECT_EQ(answer.cached_tokens, 0);
  EXPECT_EQ(answer.fingerprint, "vllm-0.32.0-78cd81c7");
}

TEST(Vllm, StepsAndTokensOfThePageOfRelease0320) {
  const std::string page =
      "vllm:num_requests_running{engine=\"0\",model_name=\"smollm2\"} 0.0\n"
      "vllm:num_requests_waiting{engine=\"0\",model_name=\"smollm2\"} 0.0\n"
      "vllm:num_preemptions_total{engine=\"0\",model_name=\"smollm2\"} 0.0\n"
      "vllm:num_preemptions_created{engine=\"0\",model_name=\"smollm2\"} 1.79600554156656e+09\n"
      "vllm:generation_tokens_total{engine=\"0\",model_name=\"smollm2\"} 5504.0\n"
      "vllm:iteration_tokens_total_bucket{engine=\"0\",le=\"1.0\",model_name=\"smollm2\"} 5.0\n"
      "vllm:iteration_tokens_total_count{engine=\"0\",model_name=\"smollm2\"} 3715.0\n"
      "vllm:iteration_tokens_total_sum{engine=\"0\",model_name=\"smollm2\"} 163565.0\n";
  const LoadSample load = Vllm()->ReadLoad(page);
  EXPECT_EQ(load.total, 0);
  EXPECT_EQ(load.generated, 5504.0);
  EXPECT_EQ(load.preempted, 0.0);
  EXPECT_EQ(load.token_steps, 3715.0);
  EXPECT_EQ(
      Vllm()->ReadLoad(page + "vllm:spec_decode_num_drafts_total{engine=\"0\"} 1.0\n").token_steps,
      std::nullopt)
      << "several tokens of a request in a step";
}

TEST(Vllm, LookedUpAndFoundTokensOfTheCache) {
  const std::string page =
      "vllm:num_requests_running{engine=\"0\"} 0.0\n"
      "vllm:prefix_cache_queries_total{engine=\"0\"} 300.0\n"
      "vllm:prefix_cache_queries_created{engine=\"0\"} 1.79600554156656e+09\n"
      "vllm:prefix_cache_hits_total{engine=\"0\"} 128.0\n";
  EXPECT_EQ(Vllm()->ReadLoad(page).cache_queries, 300.0);
  EXPECT_EQ(Vllm()->ReadLoad(page).cache_hits, 128.0);
  EXPECT_EQ(Vllm()
                ->ReadLoad(page + "vllm:external_prefix_cache_hits_total{engine=\"0\"} 16.0\n")
                .cache_hits,
            144.0)
      << "what other storage gave was not computed either";
}

TEST(Vllm, CachedTokensThatAreNullAreNotTold) {
  const Answer answer =
      ReadAll(*Vllm(),
              {R"({"choices": [], "usage": {"prompt_tokens": 3, "prompt_tokens_details": null}})"});
  EXPECT_EQ(answer.cached_tokens, std::nullopt);
}

TEST(Vllm, LogprobsKeyedByTextAreNotTaken) {
  const char* event =
      R"({"choices": [{"index": 0, "text": "a", "token_ids": [5],
          "logprobs": {"tokens": ["a"], "token_logprobs": [-1.0], "top_logprobs": [{"a": -1.0}]}}]})";
  EXPECT_THAT(ReadAll(*Vllm(), {event}).error, HasSubstr("not those of the tokens"));
}

TEST(Vllm, WithoutTokenIdsNothingIsTaken) {
  EXPECT_THAT(ReadAll(*Vllm(), {R"({"choices": [{"index": 0, "text": "a"}]})"}).error,
              HasSubstr("without token_ids"));
}

TEST(Vllm, AnotherChoiceIsAnError) {
  EXPECT_THAT(
      ReadAll(*Vllm(), {R"({"choices": [{"index": 1, "text": "a", "token_ids": [5]}]})"}).error,
      HasSubstr("index 1"));
}

TEST(Vllm, ErrorsInsideAStream) {
  EXPECT_THAT(ReadAll(*Vllm(), {R"({"error": {"message": "dead", "code": 500}})"}).error,
              HasSubstr("dead"));
  EXPECT_THAT(
      ReadAll(*Vllm(), {R"({"choices": [{"index": 0, "text": "", "finish_reason": "abort"}]})"})
          .error,
      HasSubstr("abort"));
}

TEST(Vllm, LoadIsOfOneEngineAndOfAll) {
  const LoadSample load = Vllm()->ReadLoad(
      "vllm:num_requests_running{engine=\"0\"} 3.0\nvllm:num_requests_running{engine=\"1\"} 2.0\n"
      "vllm:num_requests_waiting{engine=\"0\"} 1.0\nvllm:num_preemptions_total{engine=\"0\"} "
      "7.0\n");
  EXPECT_EQ(load.running, 3);
  EXPECT_EQ(load.total, 6);
  EXPECT_EQ(load.preempted, 7.0);
}

TEST(Vllm, ScoresAreOfTheTokensSent) {
  const char* answer =
      R"({"choices": [{"index": 0, "prompt_logprobs": [null,
          {"12": {"logprob": -1.0, "rank": 1}}, {"7": {"logprob": -0.5, "rank": 1}, "13": {"logprob": -2.0, "rank": 4}}]}]})";
  const auto scores = Vllm()->ReadScores(ParseJson(answer).root, {11, 12, 13});
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_EQ(scores[1].logprob, -2.0);
  EXPECT_THROW(Vllm()->ReadScores(ParseJson(answer).root, {11, 12, 14}), Error);
  EXPECT_THROW(Vllm()->ReadScores(ParseJson(answer).root, {11, 12}), Error);
}

TEST(Vllm, ScoresAreNotAskedForInAStream) {
  const JsonNode body = ParseJson(Vllm()->AskScores({1, 2}, 3, "s").body).root;
  EXPECT_EQ(body.Find("stream")->Bool(), false);
  EXPECT_EQ(body.Find("prompt_logprobs")->Int64(), 3);
}

TEST(Vllm, ATemperatureThatWouldBeRaisedIsRefused) {
  Request request = TwoTokens();
  EXPECT_EQ(Vllm()->Refuses(request), "");
  request.sampling.temperature = 0.009;
  EXPECT_NE(Vllm()->Refuses(request), "");
  request.sampling.temperature = 0.01;
  EXPECT_EQ(Vllm()->Refuses(request), "");
}

}  // namespace
}  // namespace detcheck
