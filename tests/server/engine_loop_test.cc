#include "engine/server/engine_loop.h"

#include <gtest/gtest.h>

#include <thread>

#include "engine/base/error.h"
#include "engine/embedded/device.h"

namespace detcheck {
namespace {

using std::chrono::milliseconds;

EngineOptions TinyOptions() {
  EngineOptions options;
  options.deterministic = true;
  options.num_threads = 1;
  return ForDevice(CpuDevice(), options);
}

std::vector<TokenId> Prompt(TokenId first, int len) {
  std::vector<TokenId> ids(len);
  for (int i = 0; i < len; ++i) ids[i] = first + i;
  return ids;
}

EngineRequest Wanted(std::vector<TokenId> prompt, int max_new_tokens) {
  EngineRequest wanted;
  wanted.request.prompt_ids = std::move(prompt);
  wanted.request.max_new_tokens = max_new_tokens;
  wanted.request.top_logprobs = 0;
  return wanted;
}

std::shared_ptr<RequestGroup> Submit(EngineLoop* loop, std::vector<EngineRequest> wanted) {
  auto group = std::make_shared<RequestGroup>(std::move(wanted));
  loop->Submit(group);
  return group;
}

FlushResult Flush(EngineLoop* loop, milliseconds timeout) {
  return loop->Flush(timeout, [] { return false; });
}

void WaitUntilEnded(RequestGroup* group) {
  uint64_t seen = 0;
  while (!group->ended()) ASSERT_TRUE(group->WaitForNews(&seen, std::chrono::seconds(30)));
}

/// For requests that run longer than any pause of a busy machine.
void WaitUntilRunning(const EngineLoop& loop, int num) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (loop.counters().num_running < num) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << num << " requests never ran together";
    std::this_thread::sleep_for(milliseconds(1));
  }
}

TEST(EngineLoopTest, AnswersAreThoseOfABatchRunDirectly) {
  Engine engine(TinyOptions(), CpuDevice());
  std::vector<BatchItem> items(3);
  std::vector<EngineRequest> wanted;
  for (int i = 0; i < 3; ++i) {
    wanted.push_back(Wanted(Prompt(100 * i, 5 + i), 12));
    items[i].request = wanted.back().request;
  }
  const BatchResult direct = engine.Run(items, false, nullptr);
  EngineLoop loop(&engine);
  const auto group = Submit(&loop, wanted);
  WaitUntilEnded(group.get());
  for (int i = 0; i < 3; ++i) {
    const PromptAnswer answer = group->Read(i);
    EXPECT_EQ(answer.completion.token_ids, direct.completions[i].token_ids);
    EXPECT_EQ(answer.completion.logprobs, direct.completions[i].logprobs);
    EXPECT_EQ(answer.completion.witness.formed_size, 3);
    EXPECT_EQ(answer.num_running, 3);
  }
  EXPECT_EQ(loop.counters().generated_tokens, 36);
  EXPECT_EQ(loop.counters().num_requests, 3);
}

TEST(EngineLoopTest, StepsAreCountedAsVllmDoes) {
  EngineOptions options = TinyOptions();
  options.chunked_prefill_size = 16;
  Engine engine(options, CpuDevice());
  EngineLoop loop(&engine);
  const auto ask = [&] {
    const auto group = Submit(&loop, {Wanted(Prompt(1, 40), 3)});
    WaitUntilEnded(group.get());
  };
  ask();  // Three chunks, of which the first two give no token: 40 + 1, 1, 1.
  LoopCounters now = loop.counters();
  EXPECT_EQ(now.engine_steps, 5);
  EXPECT_EQ(now.step_tokens, 42);
  EXPECT_EQ(now.iteration_tokens.num_steps(), 3);
  EXPECT_EQ(now.iteration_tokens.sum(), 43);
  EXPECT_EQ(now.iteration_tokens.AtMost(0), 2);
  EXPECT_EQ(now.iteration_tokens.AtMost(3), 2);
  EXPECT_EQ(now.iteration_tokens.AtMost(4), 3);
  ask();  // 32 of the prompt's tokens are cached: 8 + 1, 1, 1.
  now = loop.counters();
  EXPECT_EQ(now.iteration_tokens.num_steps(), 6);
  EXPECT_EQ(now.iteration_tokens.sum(), 43 + 11);
  EXPECT_EQ(now.cached_tokens, 32);
}

TEST(IterationTokensTest, BoundsBelongToTheirBuckets) {
  IterationTokens tokens;
  for (const int num_tokens : {1, 2, 8, 9, 16384, 16385}) tokens.Add(num_tokens);
  EXPECT_EQ(tokens.AtMost(0), 1);
  EXPECT_EQ(tokens.AtMost(1), 3);
  EXPECT_EQ(tokens.AtMost(2), 4);
  EXPECT_EQ(tokens.AtMost(12), 5);
  EXPECT_EQ(tokens.num_steps(), 6);
}

TEST(EngineLoopTest, ScoresThePromptAsTheEngineDoes) {
  Engine engine(TinyOptions(), CpuDevice());
  const auto expected = engine.Score(Prompt(7, 40), 2);
  EngineLoop loop(&engine);
  EngineRequest wanted = Wanted(Prompt(7, 40), 1);
  wanted.score_prompt = true;
  wanted.prompt_top = 2;
  const auto group = Submit(&loop, {wanted});
  WaitUntilEnded(group.get());
  EXPECT_EQ(group->Read(0).prompt_logprobs, expected);
}

TEST(EngineLoopTest, APromptIsScoredOnceThereArePages) {
  EngineOptions options = TinyOptions();
  options.max_total_tokens = 64 * options.page_size;
  Engine engine(options, CpuDevice());
  EngineLoop loop(&engine);
  const int pool = engine.kv_pool_tokens();
  const auto large = Submit(&loop, {Wanted(Prompt(1, pool - 390), 370)});
  WaitUntilRunning(loop, 1);
  EngineRequest wanted = Wanted(Prompt(7, 400), 1);
  wanted.score_prompt = true;
  const auto scored = Submit(&loop, {wanted, Wanted(Prompt(9, 4), 2)});
  WaitUntilEnded(scored.get());
  EXPECT_TRUE(large->ended());
  EXPECT_EQ(scored->Read(0).prompt_logprobs.size(), 399u);
  EXPECT_EQ(scored->Read(1).completion.token_ids.size(), 2u);
}

TEST(EngineLoopTest, ACancelledGroupEndsAndTheOthersGoOn) {
  Engine engine(TinyOptions(), CpuDevice());
  EngineLoop loop(&engine);
  const auto other = Submit(&loop, {Wanted(Prompt(1, 5), 2000)});
  const auto group = Submit(&loop, {Wanted(Prompt(7, 5), 10000), Wanted(Prompt(9, 5), 10000)});
  WaitUntilRunning(loop, 3);
  loop.Cancel(group);
  WaitUntilEnded(group.get());
  EXPECT_EQ(group->Read(0).completion.finish_reason, FinishReason::kAbort);
  EXPECT_EQ(group->Read(1).completion.finish_reason, FinishReason::kAbort);
  WaitUntilEnded(other.get());
  EXPECT_EQ(other->Read(0).completion.token_ids.size(), 2000u);
  loop.Cancel(group);  // Has ended: nothing happens.
  EXPECT_EQ(loop.counters().num_aborted, 2);
  EXPECT_EQ(loop.counters().num_used_tokens, 0);
}

TEST(EngineLoopTest, AFlushIsRefusedWhileRequestsRunAndWaitsForThemWhereAsked) {
  Engine engine(TinyOptions(), CpuDevice());
  EngineLoop loop(&engine);
  EXPECT_TRUE(Flush(&loop, milliseconds(0)).accepted);
  const auto group = Submit(&loop, {Wanted(Prompt(1, 40), 2000)});
  WaitUntilRunning(loop, 1);
  EXPECT_FALSE(Flush(&loop, milliseconds(0)).accepted);
  EXPECT_TRUE(Flush(&loop, std::chrono::seconds(60)).accepted);
  EXPECT_TRUE(group->ended());
  const auto again = Submit(&loop, {Wanted(Prompt(1, 40), 1)});
  WaitUntilEnded(again.get());
  EXPECT_EQ(again->Read(0).completion.witness.cached_tokens, 0);
}

TEST(EngineLoopTest, AFlushThatNobodyWaitsForIsGivenUp) {
  Engine engine(TinyOptions(), CpuDevice());
  EngineLoop loop(&engine);
  const auto group = Submit(&loop, {Wanted(Prompt(1, 5), 10000)});
  WaitUntilRunning(loop, 1);
  const FlushResult given_up = loop.Flush(std::chrono::hours(1), [] { return true; });
  EXPECT_FALSE(given_up.accepted);
  EXPECT_EQ(Flush(&loop, milliseconds(0)).detail, "1 requests are running or waiting");
  loop.Cancel(group);
  WaitUntilEnded(group.get());
}

TEST(EngineLoopTest, WhatIsCancelledIsNotScored) {
  constexpr int kNum = 300;
  Engine engine(TinyOptions(), CpuDevice());
  EngineLoop loop(&engine);
  EngineRequest wanted = Wanted(Prompt(7, 400), 1);
  wanted.score_prompt = true;
  const auto group = Submit(&loop, std::vector<EngineRequest>(kNum, wanted));
  while (group->Read(0).prompt_logprobs.empty()) std::this_thread::sleep_for(milliseconds(1));
  loop.Cancel(group);
  WaitUntilEnded(group.get());
  EXPECT_TRUE(group->Read(kNum - 1).prompt_logprobs.empty());
  EXPECT_EQ(loop.counters().num_aborted, kNum);
}

TEST(EngineLoopTest, TheEndOfTheLoopEndsWhatRuns) {
  Engine engine(TinyOptions(), CpuDevice());
  std::shared_ptr<RequestGroup> group;
  {
    EngineLoop loop(&engine);
    group = Submit(&loop, {Wanted(Prompt(1, 5), 10000)});
    WaitUntilRunning(loop, 1);
  }
  ASSERT_TRUE(group->ended());
  EXPECT_EQ(group->Read(0).completion.finish_reason, FinishReason::kError);
  EXPECT_EQ(engine.kv_used_tokens(), 0);  // Its pages are free again.
}

}  // namespace
}  // namespace detcheck
