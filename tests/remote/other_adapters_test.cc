// TensorRT-LLM and LMDeploy: what is asked, and how it is read.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/remote/lmdeploy.h"
#include "engine/remote/trtllm.h"
#include "tests/remote/adapter_testing.h"

namespace detcheck {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Trtllm, IdsAndLogprobsWithoutCandidates) {
  const auto adapter = MakeTrtllmAdapter({});
  const Answer answer =
      ReadAll(*adapter,
              {R"({"choices": [{"index": 0, "text": "", "token_ids": [5], "finish_reason": null,
           "logprobs": {"tokens": ["a"], "token_logprobs": [-0.5], "top_logprobs": [{"a": -0.5}]}}]})",
               R"({"choices": [{"index": 0, "text": "", "token_ids": [6], "finish_reason": "length",
           "logprobs": {"tokens": ["a"], "token_logprobs": [-0.25], "top_logprobs": []}}]})",
               R"({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2,
           "prompt_tokens_details": {"cached_tokens": 2}}})"});
  EXPECT_EQ(answer.error, "");
  EXPECT_THAT(answer.token_ids, ElementsAre(5, 6));
  EXPECT_EQ(answer.logprobs[1].logprob, -0.25);
  EXPECT_TRUE(answer.logprobs[0].top.empty()) << "keyed by text: which token it was is not told";
  EXPECT_EQ(answer.cached_tokens, 2);
  EXPECT_EQ(answer.counted_tokens, 2);
  EXPECT_EQ(answer.finish, FinishReason::kLength);
}

TEST(Trtllm, WithoutIdsNothingIsTaken) {
  const auto adapter = MakeTrtllmAdapter({});
  EXPECT_THAT(
      ReadAll(*adapter, {R"({"choices": [{"index": 0, "text": "a", "token_ids": null}]})"}).error,
      HasSubstr("without token_ids"));
}

TEST(Trtllm, LogprobsThatAreMissingAreAnError) {
  const auto adapter = MakeTrtllmAdapter({});
  EXPECT_THAT(
      ReadAll(*adapter,
              {R"({"choices": [{"index": 0, "text": "", "token_ids": [5], "logprobs": null}]})"})
          .error,
      HasSubstr("not as many as the tokens"));
}

TEST(Trtllm, ZeroCandidatesStillAskForLogprobs) {
  const auto adapter = MakeTrtllmAdapter({});
  EXPECT_EQ(BodyOf(*adapter, TwoTokens(0)).Find("logprobs")->Int64(), 1);
  EXPECT_EQ(BodyOf(*adapter, TwoTokens(std::nullopt)).Find("logprobs"), nullptr);
}

TEST(Lmdeploy, DeltasWithTheirCount) {
  const auto adapter = MakeLmdeployAdapter({});
  const std::vector<std::string> events = {
      R"({"text": "a", "output_ids": [5], "meta_info": {"prompt_tokens": 3, "completion_tokens": 1,
          "finish_reason": null, "output_token_logprobs": [[-0.5, 5]]}})",
      R"({"text": "b", "output_ids": [6], "meta_info": {"prompt_tokens": 3, "completion_tokens": 2,
          "finish_reason": {"type": "length"}, "output_token_logprobs": [[-0.25, 6]]}})"};
  const Answer answer = ReadAll(*adapter, events);
  EXPECT_EQ(answer.error, "");
  EXPECT_THAT(answer.token_ids, ElementsAre(5, 6));
  EXPECT_EQ(answer.text, "ab");
  EXPECT_EQ(answer.prompt_tokens, 3);
  EXPECT_EQ(answer.finish, FinishReason::kLength);
  EXPECT_THAT(ReadAll(*adapter, {events[1]}).error, HasSubstr("lost tokens"));
}

TEST(Lmdeploy, LogprobsOfOtherTokensAreAnError) {
  const auto adapter = MakeLmdeployAdapter({});
  EXPECT_THAT(ReadAll(*adapter, {R"({"text": "a", "output_ids": [5],
                  "meta_info": {"completion_tokens": 1, "output_token_logprobs": [[-0.5, 7]]}})"})
                  .error,
              HasSubstr("not those of the tokens"));
}

TEST(Lmdeploy, SamplingIsRefused) {
  const auto adapter = MakeLmdeployAdapter({});
  Request request = TwoTokens();
  EXPECT_EQ(adapter->Refuses(request), "");
  request.sampling.temperature = 0.5;
  EXPECT_THAT(adapter->Refuses(request), HasSubstr("no seed"));
}

}  // namespace
}  // namespace detcheck
