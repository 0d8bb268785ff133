#include "engine/remote/sglang.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/remote/sglang_claims.h"
#include "tests/remote/adapter_testing.h"

namespace detcheck {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kFirst[] =
    R"({"text": "ab", "output_ids": [5], "meta_info": {"finish_reason": null, "prompt_tokens": 3,
        "completion_tokens": 1, "cached_tokens": 0, "output_token_logprobs": [[-0.25, 5, null]],
        "output_top_logprobs": [[[-0.25, 5, null], [-1.5, 9, null]]]}})";
constexpr char kWhole[] =
    R"({"text": "abcd", "output_ids": [5, 6], "meta_info": {"finish_reason": {"type": "length", "length": 2},
        "prompt_tokens": 3, "completion_tokens": 2, "cached_tokens": 2,
        "output_token_logprobs": [[-0.25, 5, null], [-0.12345678806304932, 6, null]],
        "output_top_logprobs": [[[-0.25, 5, null], [-1.5, 9, null]], [[-0.5, 8, null], [-0.5, 6, null]]]}})";
constexpr char kDelta[] =
    R"({"text": "cd", "output_ids": [6], "meta_info": {"finish_reason": {"type": "length", "length": 2},
        "prompt_tokens": 3, "completion_tokens": 2, "cached_tokens": 2,
        "output_token_logprobs": [[-0.12345678806304932, 6, null]],
        "output_top_logprobs": [[[-0.5, 8, null], [-0.5, 6, null]]]}})";

std::unique_ptr<Adapter> Sglang() {
  return MakeSglangAdapter({});
}

TEST(Sglang, StreamsOfAllSoFarAndOfWhatIsNewAreTheSameAnswer) {
  for (const char* second : {kWhole, kDelta}) {
    const Answer answer = ReadAll(*Sglang(), {kFirst, second});
    EXPECT_EQ(answer.error, "");
    EXPECT_THAT(answer.token_ids, ElementsAre(5, 6));
    ASSERT_EQ(answer.logprobs.size(), 2u);
    EXPECT_EQ(answer.logprobs[1].logprob, -0.12345678806304932);
    EXPECT_EQ(answer.logprobs[1].top.front().id, 6) << "ties by lowest ID";
    EXPECT_EQ(answer.text, "abcd");
    EXPECT_EQ(answer.finish, FinishReason::kLength);
    EXPECT_EQ(answer.prompt_tokens, 3);
    EXPECT_EQ(answer.cached_tokens, 2);
  }
}

TEST(Sglang, TokensThatWereLostAreAnError) {
  EXPECT_THAT(ReadAll(*Sglang(), {kDelta}).error, HasSubstr("lost tokens"));
}

TEST(Sglang, IdsOfServersThatGiveThemWithLogprobsOnly) {
  const char* event =
      R"({"text": "ab", "meta_info": {"finish_reason": null, "completion_tokens": 1,
          "output_token_logprobs": [[-0.25, 5, null]], "output_top_logprobs": [[[-0.25, 5, null]]]}})";
  EXPECT_THAT(ReadAll(*Sglang(), {event}).token_ids, ElementsAre(5));
  EXPECT_THAT(
      ReadAll(*Sglang(), {R"({"text": "ab", "meta_info": {"completion_tokens": 1}})"}).error,
      HasSubstr("with logprobs only"));
}

TEST(Sglang, ALogprobThatIsNoNumberIsAnError) {
  const char* event =
      R"({"output_ids": [5], "meta_info": {"completion_tokens": 1, "output_token_logprobs": [[null, 5, null]],
          "output_top_logprobs": [[]]}})";
  EXPECT_THAT(ReadAll(*Sglang(), {event}).error, HasSubstr("no number"));
}

TEST(Sglang, ErrorsAndAbortsInsideAStream) {
  EXPECT_THAT(ReadAll(*Sglang(), {kFirst, R"({"error": {"message": "boom"}})"}).error,
              HasSubstr("boom"));
  const char* abort =
      R"({"output_ids": [5], "meta_info": {"completion_tokens": 1,
          "finish_reason": {"type": "abort", "message": "too long"}}})";
  EXPECT_THAT(ReadAll(*Sglang(), {abort}, TwoTokens(std::nullopt)).error,
              HasSubstr("abort): too long"));
}

TEST(Sglang, AnEventOfAnotherItemIsAnError) {
  const char* event = R"({"index": 1, "output_ids": [5], "meta_info": {"completion_tokens": 1}})";
  EXPECT_THAT(ReadAll(*Sglang(), {event}, TwoTokens(std::nullopt)).error, HasSubstr("index 1"));
}

TEST(Sglang, RetractionsByBothNamesAndTheRunningBatch) {
  for (const char* name : {"num_retractions", "total_retractions"}) {
    const std::string event =
        std::string(R"({"output_ids": [5], "meta_info": {"completion_tokens": 1, ")") + name +
        R"(": 2, "num_running_reqs": 4}})";
    const Answer answer = ReadAll(*Sglang(), {event}, TwoTokens(std::nullopt));
    EXPECT_EQ(answer.preemptions, 2);
    EXPECT_EQ(answer.running, 4);
  }
}

TEST(Sglang, TheBodyHoldsEveryParameter) {
  Request request = TwoTokens();
  const JsonNode greedy = BodyOf(*Sglang(), request);
  EXPECT_EQ(greedy.FindPath({"logprob_start_len"})->Int64(), -1);
  EXPECT_EQ(greedy.FindPath({"sampling_params", "sampling_seed"}), nullptr);
  EXPECT_EQ(greedy.FindPath({"sampling_params", "top_k"})->Int64(), -1);
  EXPECT_EQ(greedy.FindPath({"cache_salt"})->String(), "salt-1");
  EXPECT_EQ(greedy.FindPath({"input_ids"})->items().size(), 3u);
  request.sampling.temperature = 0.5;
  EXPECT_EQ(BodyOf(*Sglang(), request).FindPath({"sampling_params", "sampling_seed"})->Int64(), 42);
}

TEST(Sglang, ScoresLeaveOutTheFirstTokenWhoseLogprobIsNull) {
  const char* answer =
      R"({"meta_info": {"input_token_logprobs": [[null, 11, null], [-1.0, 12, null], [-2.0, 13, null]],
          "input_top_logprobs": [null, [[-1.0, 12, null]], [[-0.5, 7, null], [-2.0, 13, null]]]}})";
  const auto scores = Sglang()->ReadScores(ParseJson(answer).root, {11, 12, 13});
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_EQ(scores[1].logprob, -2.0);
  EXPECT_EQ(scores[1].top.front().id, 7);
  EXPECT_THROW(Sglang()->ReadScores(ParseJson(answer).root, {11, 12, 14}), Error);
}

TEST(SglangLoad, FormedSizeIsOfOneScheduler) {
  const LoadSample now = ReadSglangLoad(
      R"({"loads": [{"dp_rank": 0, "num_running_reqs": 3, "num_waiting_reqs": 1},
                    {"dp_rank": 1, "num_running_reqs": 2, "num_waiting_reqs": 0}]})");
  EXPECT_EQ(now.running, 3);
  EXPECT_EQ(now.total, 6);
}

TEST(SglangLoad, OlderReleasesCountWaitingOnesAmongAll) {
  const LoadSample load =
      ReadSglangLoad(R"([{"dp_rank": 0, "num_reqs": 5, "num_waiting_reqs": 2, "num_tokens": 9}])");
  EXPECT_EQ(load.running, 3);
  EXPECT_EQ(load.total, 5);
  EXPECT_EQ(ReadSglangLoad("nonsense").running, std::nullopt);
}

}  // namespace
}  // namespace detcheck
