#include "engine/embedded/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/embedded/scheduler_rig.h"

namespace detcheck {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(SchedulerTest, PrefillsAndDecodesOneRequest) {
  SchedulerRig rig;
  const auto result = rig.Run({Item(Ids(10, 6), 4)});
  EXPECT_EQ(Show(result.steps), "0: 0p6 | 1-3: 0d");
  const Completion& completion = result.completions[0];
  EXPECT_EQ(completion.token_ids, ExpectedAnswer(Ids(10, 6), 4));
  EXPECT_EQ(completion.finish_reason, FinishReason::kLength);
  EXPECT_EQ(completion.prompt_tokens, 6);
  EXPECT_THAT(completion.logprobs, IsEmpty());
  EXPECT_LE(completion.times.sent, completion.times.first_token);
  EXPECT_LE(completion.times.first_token, completion.times.last_token);
  EXPECT_TRUE(rig.NoPageLost());
}

TEST(SchedulerTest, DrawsEachTokenAtItsPosition) {
  SchedulerRig rig;
  rig.Run({Item(Ids(10, 6), 3)});
  ASSERT_EQ(rig.ops.steps.size(), 3u);
  EXPECT_THAT(rig.ops.steps[0].draws, ElementsAre(6));
  EXPECT_THAT(rig.ops.steps[1].draws, ElementsAre(7));
  EXPECT_THAT(rig.ops.steps[2].draws, ElementsAre(8));
  EXPECT_THAT(rig.ops.steps[0].batch.logit_rows, ElementsAre(5));
  EXPECT_THAT(rig.ops.steps[0].batch.positions, ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(SchedulerTest, GivesLogprobsWhereAskedFor) {
  SchedulerRig rig;
  auto item = Item(Ids(10, 6), 3);
  item.request.top_logprobs = 2;
  const auto result = rig.Run({item});
  ASSERT_EQ(result.completions[0].logprobs.size(), 3u);
  EXPECT_EQ(result.completions[0].logprobs[2].top.size(), 2u);
}

TEST(SchedulerTest, CutsPrefillIntoChunksAndSharesTheBudgetInOrder) {
  SchedulerRig rig;
  const auto result = rig.Run({Item(Ids(0, 20), 2), Item(Ids(100, 14), 2), Item(Ids(200, 3), 2)});
  EXPECT_EQ(Show(result.steps), "0: 0p16 | 1: 0p4 1p12 | 2: 0d 1p2 2p3 | 3: 1d 2d");
  EXPECT_THAT(rig.ops.steps[0].draws, IsEmpty());
  EXPECT_THAT(result.completions[0].witness.chunk_ends, ElementsAre(16));
  EXPECT_THAT(result.completions[1].witness.chunk_ends, ElementsAre(12));
  EXPECT_THAT(result.completions[2].witness.chunk_ends, IsEmpty());
  for (int i = 0; i < 3; ++i) {
    const auto prompt = Ids(100 * i, i == 0 ? 20 : i == 1 ? 14 : 3);
    EXPECT_EQ(result.completions[i].token_ids, ExpectedAnswer(prompt, 2));
  }
}

TEST(SchedulerTest, AdmitsInItemOrderUpToMaxRunning) {
  SchedulerRig rig;
  rig.limits.max_running_requests = 2;
  const auto result = rig.Run({Item(Ids(0, 2), 2), Item(Ids(100, 2), 3), Item(Ids(200, 2), 1)});
  EXPECT_EQ(Show(result.steps), "0: 0p2 1p2 | 1: 0d 1d | 2: 1d 2p2");
}

TEST(SchedulerTest, ReleasesAfterTokensOfAnotherItem) {
  SchedulerRig rig;
  const auto result = rig.Run({Item(Ids(0, 2), 5), Item(Ids(100, 3), 2, AfterTokens(0, 2)),
                               Item(Ids(200, 2), 1, AfterTokens(1, 9))});
  EXPECT_EQ(Show(result.steps), "0: 0p2 | 1: 0d | 2: 0d 1p3 | 3: 0d 1d | 4: 0d 2p2");
}

TEST(SchedulerTest, ReleasesAtEngineStepsAndSkipsIdleOnes) {
  SchedulerRig rig;
  const auto result = rig.Run({Item(Ids(0, 2), 2, AtStep(3)), Item(Ids(100, 2), 1, AtStep(4)),
                               Item(Ids(200, 2), 1, AtStep(9))});
  EXPECT_EQ(Show(result.steps), "3: 0p2 | 4: 0d 1p2 | 9: 2p2");
}

TEST(StepSpansTest, ASpanIsConsecutiveStepsOfEqualRows) {
  StepSpans spans;
  spans.Add(0, {{.item = 1, .num_tokens = 1, .decode = true}});
  spans.Add(1, {{.item = 1, .num_tokens = 1, .decode = true}});
  spans.Add(5, {{.item = 1, .num_tokens = 1, .decode = true}});
  spans.Add(6, {{.item = 1, .num_tokens = 1, .decode = false}});
  EXPECT_EQ(Show(spans.spans()), "0-1: 1d | 5: 1d | 6: 1p1");
}

TEST(SchedulerTest, AbortsAfterTokens) {
  SchedulerRig rig;
  auto item = Item(Ids(0, 5), 100);
  item.abort_after_tokens = 3;
  const auto result = rig.Run({item});
  EXPECT_EQ(result.completions[0].finish_reason, FinishReason::kAbort);
  EXPECT_EQ(result.completions[0].token_ids, ExpectedAnswer(Ids(0, 5), 3));
  EXPECT_TRUE(rig.NoPageLost());
}

TEST(SchedulerTest, EndsAtEosUnlessIgnored) {
  SchedulerRig rig;
  const auto answer = ExpectedAnswer(Ids(0, 5), 4);
  rig.limits.eos_ids = {answer[2]};
  auto item = Item(Ids(0, 5), 4);
  EXPECT_EQ(rig.Run({item}).completions[0].token_ids, answer);
  item.request.ignore_eos = false;
  const auto result = rig.Run({item});
  EXPECT_EQ(result.completions[0].finish_reason, FinishReason::kStop);
  EXPECT_THAT(result.completions[0].token_ids, ElementsAre(answer[0], answer[1], answer[2]));
}

TEST(SchedulerTest, StopEndsEverythingInAbort) {
  SchedulerRig rig;
  rig.limits.max_running_requests = 1;
  const auto result =
      rig.Run({Item(Ids(0, 5), 50), Item(Ids(50, 5), 5), Item(Ids(9, 5), 5, AtStep(99))},
              [&](int, int num_tokens) { rig.stop = num_tokens == 3; });
  for (const auto& completion : result.completions) {
    EXPECT_EQ(completion.finish_reason, FinishReason::kAbort);
  }
  EXPECT_EQ(result.completions[0].token_ids, ExpectedAnswer(Ids(0, 5), 3));
  EXPECT_TRUE(rig.NoPageLost());
}

TEST(SchedulerTest, TellsEachToken) {
  SchedulerRig rig;
  std::vector<std::pair<int, int>> told;
  rig.Run({Item(Ids(0, 20), 2), Item(Ids(50, 2), 1)},
          [&](int item, int num_tokens) { told.emplace_back(item, num_tokens); });
  EXPECT_THAT(told, ElementsAre(std::pair(0, 1), std::pair(1, 1), std::pair(0, 2)));
}

// --- requests that can never run ----------------------------------------------------------------

std::string ErrorOf(SchedulerRig* rig, const BatchItem& item) {
  const auto result = rig->Run({item, Item(Ids(0, 2), 1, AfterTokens(0, 1))});
  EXPECT_EQ(result.completions[0].finish_reason, FinishReason::kError);
  EXPECT_THAT(result.completions[0].token_ids, IsEmpty());
  EXPECT_EQ(result.completions[1].finish_reason, FinishReason::kLength) << "released by its end";
  return result.completions[0].error;
}

TEST(SchedulerTest, RefusesWhatCanNeverRun) {
  SchedulerRig rig(/*num_pages=*/4);
  EXPECT_EQ(ErrorOf(&rig, Item({}, 1)), "the prompt is empty");
  EXPECT_EQ(ErrorOf(&rig, Item({1, 2, 1000}, 1)),
            "prompt token 2 is 1000, outside the vocabulary of 1000");
  EXPECT_EQ(ErrorOf(&rig, Item({1, -1}, 1)),
            "prompt token 1 is -1, outside the vocabulary of 1000");
  EXPECT_EQ(ErrorOf(&rig, Item({1}, 0)), "max_new_tokens is 0, at least 1 is needed");
  EXPECT_EQ(ErrorOf(&rig, Item(Ids(0, 200), 57)),
            "a prompt of 200 tokens and 57 new ones exceed the context of 256 tokens");
  EXPECT_EQ(ErrorOf(&rig, Item(Ids(0, 10), 8)),
            "a prompt of 10 tokens and 8 new ones do not fit the KV pool of 4 pages of 4 tokens "
            "(max_total_tokens)");
  EXPECT_EQ(rig.Run({Item(Ids(0, 10), 7)}).completions[0].finish_reason, FinishReason::kLength)
      << "the last token needs no slot";
}

TEST(SchedulerTest, EndsItemsThatAreNeverReleased) {
  SchedulerRig rig;
  const auto result =
      rig.Run({Item(Ids(0, 2), 2), Item(Ids(0, 2), 1, AfterTokens(2, 1)),
               Item(Ids(0, 2), 1, AfterTokens(1, 1)), Item(Ids(0, 2), 1, AfterTokens(7, 1))});
  EXPECT_EQ(result.completions[0].finish_reason, FinishReason::kLength);
  for (int i = 1; i < 4; ++i) {
    EXPECT_EQ(result.completions[i].error, "its release waits for an item that is never released");
  }
}

// --- witnesses ----------------------------------------------------------------------------------

TEST(SchedulerTest, WitnessesAreExact) {
  SchedulerRig rig;
  const auto result = rig.Run({Item(Ids(0, 3), 6), Item(Ids(100, 20), 2, AfterTokens(0, 2)),
                               Item(Ids(200, 2), 1, AfterTokens(1, 1))});
  EXPECT_EQ(Show(result.steps), "0: 0p3 | 1: 0d | 2: 0d 1p16 | 3: 0d 1p4 | 4: 0d 1d 2p2 | 5: 0d");
  const Witness& subject = result.completions[0].witness;
  EXPECT_EQ(subject.source, WitnessSource::kEngine);
  EXPECT_EQ(subject.formed_size, 3);
  EXPECT_EQ(subject.slot, 0);
  EXPECT_EQ(subject.cached_tokens, 0);
  EXPECT_EQ(subject.same_step_prefill_tokens, 16);
  EXPECT_EQ(subject.interleaved_prefill_tokens, 0);
  EXPECT_EQ(subject.preemptions, 0);
  const Witness& neighbour = result.completions[1].witness;
  EXPECT_EQ(neighbour.slot, 1);
  EXPECT_EQ(neighbour.same_step_prefill_tokens, 2);
  EXPECT_THAT(neighbour.chunk_ends, ElementsAre(16));
  const Witness& last = result.completions[2].witness;
  EXPECT_EQ(last.slot, 2);
  EXPECT_EQ(last.formed_size, 3);
  EXPECT_EQ(last.same_step_prefill_tokens, 0) << "it never decoded";
}

TEST(SchedulerTest, ObserverSeesEveryPosition) {
  SchedulerRig rig;
  std::vector<std::string> seen;
  const auto result = rig.Run({Item(Ids(0, 18), 3), Item(Ids(30, 1), 2)}, nullptr,
                              [&](int item, int position, const std::string& digest) {
                                if (item != 0) return;
                                EXPECT_EQ(position, static_cast<int>(seen.size()));
                                seen.push_back(digest);
                              });
  auto ids = Ids(0, 18);
  const auto& answer = result.completions[0].token_ids;
  EXPECT_EQ(answer, ExpectedAnswer(ids, 3)) << "observing changes no answer";
  ids.insert(ids.end(), answer.begin(), answer.end());
  ASSERT_EQ(seen.size(), 20u);
  for (size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i], std::to_string(FakeOps::Hash(std::span(ids).first(i + 1))));
  }
}

TEST(SchedulerTest, AFailingDeviceLosesNoPage) {
  SchedulerRig rig;
  rig.ops.fail_at_step = 2;
  EXPECT_THROW(rig.Run({Item(Ids(0, 5), 9), Item(Ids(50, 5), 9)}), Error);
  EXPECT_TRUE(rig.NoPageLost());
  rig.ops.fail_at_step = -1;
  EXPECT_EQ(rig.Run({Item(Ids(0, 5), 9)}).completions[0].token_ids, ExpectedAnswer(Ids(0, 5), 9));
}

// --- requests that come and go while others run -------------------------------------------------

Request MakeRequest(std::vector<TokenId> prompt, int max_new_tokens) {
  return Item(std::move(prompt), max_new_tokens).request;
}

TEST(OnlineSchedulerTest, ARequestAddedBetweenStepsJoinsTheRunningBatch) {
  SchedulerRig rig;
  const auto scheduler = rig.NewScheduler();
  const Request first = MakeRequest(Ids(0, 5), 3);
  const Request second = MakeRequest(Ids(100, 4), 2);
  scheduler->Add(7, &first);
  scheduler->Step();
  scheduler->Add(9, &second);
  const auto outcome = scheduler->Step();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(Show({{.first_step = 0, .num_steps = 1, .rows = outcome->rows}}), "0: 7d 9p4");
  EXPECT_EQ(scheduler->completion(7).token_ids, ExpectedAnswer(Ids(0, 5), 2));
  EXPECT_EQ(outcome->answers.at(0).num_tokens, 2);
  EXPECT_EQ(scheduler->num_running(), 2);
  scheduler->Step();
  const auto ended = scheduler->TakeEnded();
  ASSERT_EQ(ended.size(), 2);
  EXPECT_EQ(ended[0].item, 7);
  EXPECT_EQ(ended[0].completion.token_ids, ExpectedAnswer(Ids(0, 5), 3));
  EXPECT_EQ(ended[1].completion.token_ids, ExpectedAnswer(Ids(100, 4), 2));
  EXPECT_EQ(ended[1].completion.witness.formed_size, 2);
  EXPECT_FALSE(scheduler->Step());
  EXPECT_TRUE(rig.NoPageLost());
}

TEST(OnlineSchedulerTest, AbortEndsOneItemWhereverItIs) {
  SchedulerRig rig;
  rig.limits.max_running_requests = 2;
  const auto scheduler = rig.NewScheduler();
  const Request request = MakeRequest(Ids(0, 5), 4);
  for (const int item : {0, 1, 2}) scheduler->Add(item, &request);
  scheduler->Step();
  EXPECT_EQ(scheduler->num_waiting(), 1);
  scheduler->Abort(2);  // Waits.
  scheduler->Abort(0);  // Runs.
  while (scheduler->Step()) {
  }
  const auto ended = scheduler->TakeEnded();
  ASSERT_EQ(ended.size(), 3);
  EXPECT_EQ(ended[0].item, 2);
  EXPECT_EQ(ended[0].completion.finish_reason, FinishReason::kAbort);
  EXPECT_TRUE(ended[0].completion.token_ids.empty());
  EXPECT_EQ(ended[1].completion.token_ids, ExpectedAnswer(Ids(0, 5), 1));
  EXPECT_EQ(ended[2].completion.token_ids, ExpectedAnswer(Ids(0, 5), 4));
  EXPECT_TRUE(rig.NoPageLost());
}

TEST(OnlineSchedulerTest, APreemptedItemCanBeAborted) {
  SchedulerRig rig(/*num_pages=*/5);
  const auto scheduler = rig.NewScheduler();
  const Request request = MakeRequest(Ids(0, 6), 9);
  const Request other = MakeRequest(Ids(100, 6), 9);
  scheduler->Add(0, &request);
  scheduler->Add(1, &other);
  scheduler->Step();
  ASSERT_EQ(scheduler->num_running(), 2);
  while (scheduler->num_waiting() == 0) ASSERT_TRUE(scheduler->Step());
  scheduler->Abort(1);
  while (scheduler->Step()) {
  }
  const auto ended = scheduler->TakeEnded();
  ASSERT_EQ(ended.size(), 2);
  EXPECT_EQ(ended[0].completion.witness.preemptions, 1);
  EXPECT_EQ(ended[1].completion.token_ids, ExpectedAnswer(Ids(0, 6), 9));
  EXPECT_TRUE(rig.NoPageLost());
}

}  // namespace
}  // namespace detcheck
