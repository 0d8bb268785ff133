// TGI, Ollama and plain OpenAI servers: what is asked, and how it is read.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/remote/ollama.h"
#include "engine/remote/openai.h"
#include "engine/remote/tgi.h"
#include "tests/remote/adapter_testing.h"

namespace detcheck {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Request Sampled(const Sampling& sampling) {
  Request request = TwoTokens();
  request.sampling = sampling;
  return request;
}

TEST(Tgi, IdsLogprobsAndCandidates) {
  const auto adapter = MakeTgiAdapter({});
  const Answer answer =
      ReadAll(*adapter,
              {R"({"index": 1, "token": {"id": 5, "text": "a", "logprob": -0.5, "special": false},
           "top_tokens": [{"id": 9, "text": "b", "logprob": -0.5, "special": false},
                          {"id": 5, "text": "a", "logprob": -0.5, "special": false},
                          {"id": 8, "text": "c", "logprob": -0.75, "special": false}],
           "generated_text": null, "details": null})",
               R"({"index": 2, "token": {"id": 6, "text": "b", "logprob": -0.25, "special": false},
           "generated_text": "ab", "details": {"finish_reason": "length", "generated_tokens": 2,
           "seed": 42, "input_length": 3}})"});
  EXPECT_EQ(answer.error, "");
  EXPECT_THAT(answer.token_ids, ElementsAre(5, 6));
  EXPECT_EQ(answer.num_tokens, std::nullopt) << "it gives IDs";
  ASSERT_EQ(answer.logprobs.size(), 2U);
  EXPECT_THAT(answer.logprobs[0].top, ElementsAre(TokenCandidate{5, -0.5}, TokenCandidate{9, -0.5}))
      << "more than asked for come where they are tied";
  EXPECT_EQ(answer.text, "ab");
  EXPECT_EQ(answer.prompt_tokens, 3);
  EXPECT_EQ(answer.counted_tokens, 2);
  EXPECT_EQ(answer.finish, FinishReason::kLength);
}

TEST(Tgi, FinishReasons) {
  const auto adapter = MakeTgiAdapter({});
  const auto end = [&](const std::string& reason) {
    return ReadAll(*adapter, {R"({"token": {"id": 5, "text": "", "logprob": -0.5},
                "generated_text": "", "details": {"finish_reason": ")" +
                              reason + R"(", "input_length": 3}})"});
  };
  EXPECT_EQ(end("eos_token").finish, FinishReason::kStop);
  EXPECT_EQ(end("stop_sequence").finish, FinishReason::kStop);
  EXPECT_THAT(end("other").error, HasSubstr("the server ended it (other)"));
}

TEST(Tgi, ErrorsAreEvents) {
  const auto adapter = MakeTgiAdapter({});
  const Answer answer = ReadAll(
      *adapter, {R"({"error": "Input validation error: too long", "error_type": "validation"})"});
  EXPECT_THAT(answer.error, HasSubstr("too long"));
}

TEST(Tgi, ALogprobThatIsNoNumberIsAnError) {
  const auto adapter = MakeTgiAdapter({});
  EXPECT_THAT(ReadAll(*adapter, {R"({"token": {"id": 5, "text": "a", "logprob": null}})"}).error,
              HasSubstr("without a token's ID and logprob"));
}

TEST(Tgi, WhatIsLeftOutWhereItIsOff) {
  const auto adapter = MakeTgiAdapter({});
  const JsonNode greedy = BodyOf(*adapter, TwoTokens());
  for (const char* name : {"temperature", "top_p", "top_k", "typical_p"}) {
    EXPECT_EQ(greedy.FindPath({"parameters", name}), nullptr) << name;
  }
  EXPECT_EQ(greedy.FindPath({"parameters", "do_sample"})->Bool(), false);
  const JsonNode sampled = BodyOf(*adapter, Sampled({1.0, 0.5, 3, 0.0, 7}));
  EXPECT_EQ(sampled.FindPath({"parameters", "do_sample"})->Bool(), true);
  EXPECT_EQ(sampled.FindPath({"parameters", "temperature"})->Double(), 1.0);
  EXPECT_EQ(sampled.FindPath({"parameters", "top_p"})->Double(), 0.5);
  EXPECT_EQ(sampled.FindPath({"parameters", "top_k"})->Int64(), 3);
  EXPECT_THAT(adapter->Refuses(Sampled({1.0, 1.0, -1, 0.1, 7})), HasSubstr("min_p"));
  EXPECT_EQ(adapter->Refuses(TwoTokens()), "");
}

TEST(Tgi, ANewServersGaugesAreNotThereYet) {
  const auto adapter = MakeTgiAdapter({});
  EXPECT_EQ(adapter->ReadLoad("").running, 0);
  EXPECT_EQ(adapter->ReadLoad("").total, 0);
  const LoadSample load = adapter->ReadLoad(
      "tgi_batch_current_size 3\ntgi_queue_size 2\ntgi_batch_next_size_bucket{le=\"1\"} 1\n"
      "tgi_batch_next_size_sum 7\ntgi_batch_next_size_count 2\n");
  EXPECT_EQ(load.running, 3);
  EXPECT_EQ(load.total, 5);
  EXPECT_EQ(load.batched, 7.0);
  EXPECT_EQ(load.batches, 2.0);
}

TEST(Ollama, TextAndTheTokensBytes) {
  const auto adapter = MakeOllamaAdapter({});
  const Answer answer = ReadAll(
      *adapter, {R"({"response": "a", "done": false, "logprobs":
           [{"token": "a", "logprob": -0.5, "bytes": [97]}]})",
                 R"({"response": "é", "done": false, "logprobs":
           [{"token": "?", "logprob": -0.25, "bytes": [195]},
            {"token": "?", "logprob": -0.125, "bytes": [169]}]})",
                 R"({"response": "", "done": true, "done_reason": "length", "prompt_eval_count": 3,
           "eval_count": 4})"});
  EXPECT_EQ(answer.error, "");
  EXPECT_EQ(answer.text, "aé");
  EXPECT_THAT(answer.token_bytes, ElementsAre("a", "\xc3", "\xa9"));
  EXPECT_EQ(answer.logprobs[2].logprob, -0.125);
  EXPECT_TRUE(answer.token_ids.empty());
  EXPECT_EQ(answer.num_tokens, 4) << "one of them had no text of its own";
  EXPECT_EQ(answer.prompt_tokens, 3);
  EXPECT_EQ(answer.finish, FinishReason::kLength);
}

TEST(Ollama, EndsThatAreNone) {
  const auto adapter = MakeOllamaAdapter({});
  EXPECT_EQ(ReadAll(*adapter, {R"({"response": "", "done": true, "done_reason": "stop"})"}).finish,
            FinishReason::kStop);
  EXPECT_THAT(ReadAll(*adapter, {R"({"response": "", "done": true, "done_reason": "load"})"}).error,
              HasSubstr("the server ended it (load)"));
  EXPECT_THAT(ReadAll(*adapter, {R"({"error": "model runner has stopped"})"}).error,
              HasSubstr("model runner has stopped"));
  EXPECT_EQ(ReadAll(*adapter, {R"({"response": "a", "done": false})"}).finish, std::nullopt);
}

TEST(Ollama, WhatIsAskedStandsInOptions) {
  const auto adapter = MakeOllamaAdapter({});
  Request request = TwoTokens();
  request.prompt_text = "The rain";
  const JsonNode body = BodyOf(*adapter, request);
  EXPECT_EQ(body.Find("prompt")->String(), "The rain");
  EXPECT_EQ(body.Find("raw")->Bool(), true);
  EXPECT_EQ(body.Find("temperature"), nullptr);
  EXPECT_EQ(body.FindPath({"options", "temperature"})->Double(), 0.0);
  EXPECT_EQ(body.FindPath({"options", "top_k"})->Int64(), 1);
  EXPECT_EQ(body.FindPath({"options", "repeat_penalty"})->Double(), 1.0);
  EXPECT_EQ(body.Find("logprobs")->Bool(), true);
  request.top_logprobs.reset();
  EXPECT_EQ(BodyOf(*adapter, request).Find("logprobs")->Bool(), false);
}

TEST(Openai, TextLogprobsAndUsage) {
  const auto adapter = MakeOpenaiAdapter({});
  const Answer answer = ReadAll(
      *adapter,
      {R"({"system_fingerprint": "fp_a", "choices": [{"index": 0, "text": "ab", "finish_reason": null,
           "logprobs": {"tokens": ["a", "b"], "token_logprobs": [-0.5, -0.25],
                        "top_logprobs": [{"a": -0.5}, {"b": -0.25}], "text_offset": [0, 1]}}]})",
       R"({"choices": [{"index": 0, "text": "", "finish_reason": "stop", "logprobs": null}]})",
       R"({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 3}})"});
  EXPECT_EQ(answer.error, "");
  EXPECT_EQ(answer.text, "ab");
  EXPECT_THAT(answer.token_bytes, ElementsAre("a", "b"));
  EXPECT_EQ(answer.logprobs[1].logprob, -0.25);
  EXPECT_TRUE(answer.logprobs[1].top.empty()) << "keyed by text: which token it was is not told";
  EXPECT_EQ(answer.num_tokens, 3);
  EXPECT_EQ(answer.prompt_tokens, 3);
  EXPECT_EQ(answer.fingerprint, "fp_a");
  EXPECT_EQ(answer.finish, FinishReason::kStop);
}

TEST(Openai, WithoutLogprobsAnEventIsAToken) {
  const auto adapter = MakeOpenaiAdapter({});
  const std::vector<std::string> events = {R"({"choices": [{"index": 0, "text": "a"}]})",
                                           R"({"choices": [{"index": 0, "text": "b"}]})"};
  EXPECT_EQ(ReadAll(*adapter, events, TwoTokens(std::nullopt)).num_tokens, 2);
}

TEST(Openai, PromptsAreIdsOrText) {
  const auto adapter = MakeOpenaiAdapter({});
  Request request = TwoTokens(9);
  EXPECT_TRUE(BodyOf(*adapter, request).Find("prompt")->IsArray());
  EXPECT_EQ(BodyOf(*adapter, request).Find("logprobs")->Int64(), 5) << "OpenAI's limit";
  request.prompt_text = "The rain";
  EXPECT_EQ(BodyOf(*adapter, request).Find("prompt")->String(), "The rain");
}

TEST(Openai, FiltersThatItDoesNotHave) {
  const auto adapter = MakeOpenaiAdapter({});
  EXPECT_EQ(adapter->Refuses(Sampled({0.0, 1.0, 3, 0.1, 7})), "") << "greedy needs none";
  EXPECT_THAT(adapter->Refuses(Sampled({0.5, 1.0, 3, 0.0, 7})), HasSubstr("top_k"));
  EXPECT_THAT(adapter->Refuses(Sampled({0.5, 1.0, -1, 0.1, 7})), HasSubstr("min_p"));
}

TEST(Openai, LogprobsThatDoNotFitAreAnError) {
  const auto adapter = MakeOpenaiAdapter({});
  EXPECT_THAT(ReadAll(*adapter, {R"({"choices": [{"index": 0, "text": "a",
                "logprobs": {"tokens": ["a", "b"], "token_logprobs": [-0.5]}}]})"})
                  .error,
              HasSubstr("not as many as the tokens"));
  EXPECT_THAT(ReadAll(*adapter, {R"({"choices": [{"index": 0, "text": "a",
                "logprobs": {"tokens": ["a"], "token_logprobs": [null]}}]})"})
                  .error,
              HasSubstr("no number"));
}

}  // namespace
}  // namespace detcheck
