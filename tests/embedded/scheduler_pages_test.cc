// The scheduler with its prefix cache, and when pages are short.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/rng.h"
#include "tests/embedded/scheduler_rig.h"

namespace detcheck {
namespace {

using ::testing::HasSubstr;

/// A prompt followed by the answer that it gets.
std::vector<TokenId> WithAnswer(std::vector<TokenId> prompt, int num_tokens) {
  const auto answer = ExpectedAnswer(prompt, num_tokens);
  prompt.insert(prompt.end(), answer.begin(), answer.end());
  return prompt;
}

int CachedTokens(SchedulerRig* rig, std::vector<TokenId> prompt) {
  return *rig->Run({Item(std::move(prompt), 1)}).completions[0].witness.cached_tokens;
}

TEST(SchedulerCacheTest, SharesWholePagesAndComputesAtLeastOneToken) {
  SchedulerRig rig;
  rig.Run({Item(Ids(0, 12), 1)});
  EXPECT_EQ(rig.pages.num_cached(), 3);
  EXPECT_EQ(CachedTokens(&rig, Ids(0, 12)), 8) << "the last page has the token to compute";
  EXPECT_EQ(CachedTokens(&rig, Ids(0, 13)), 12);
  EXPECT_EQ(CachedTokens(&rig, Ids(0, 11)), 8);
  EXPECT_EQ(CachedTokens(&rig, Ids(0, 4)), 0);
  EXPECT_EQ(CachedTokens(&rig, Ids(0, 5)), 4);
  EXPECT_TRUE(rig.NoPageLost());
}

TEST(SchedulerCacheTest, KeepsTokensWrittenByDecode) {
  SchedulerRig rig;
  const auto whole = WithAnswer(Ids(0, 6), 7);
  rig.Run({Item(Ids(0, 6), 7)});
  EXPECT_EQ(rig.pages.num_cached(), 3) << "12 tokens are computed, the 13th is not";
  auto next = whole;
  next.push_back(5);
  const auto result = rig.Run({Item(next, 2)});
  EXPECT_EQ(result.completions[0].witness.cached_tokens, 12);
  EXPECT_EQ(result.completions[0].token_ids, ExpectedAnswer(next, 2));
  EXPECT_EQ(Show(result.steps), "0: 0p2 | 1: 0d");
}

TEST(SchedulerCacheTest, PromptPagesAreSharedWhileTheRequestRuns) {
  SchedulerRig rig;
  const auto result = rig.Run({Item(Ids(0, 9), 6), Item(Ids(0, 9), 2, AfterTokens(0, 1))});
  EXPECT_EQ(result.completions[1].witness.cached_tokens, 8);
  EXPECT_EQ(result.completions[1].token_ids, ExpectedAnswer(Ids(0, 9), 2));
  EXPECT_TRUE(rig.NoPageLost());
}

TEST(SchedulerCacheTest, EqualPromptsOfOneStepEndUpWithOneCopy) {
  SchedulerRig rig;
  int num_free = 0;
  rig.Run({Item(Ids(0, 8), 3), Item(Ids(0, 8), 3)}, [&](int, int num_tokens) {
    if (num_tokens == 2) num_free = rig.pages.num_free();
  });
  EXPECT_EQ(num_free, 60) << "two pages for both, and one for each one's next tokens";
  EXPECT_TRUE(rig.NoPageLost());
}

TEST(SchedulerCacheTest, BypassNeitherReadsNorLeavesAnything) {
  SchedulerRig rig;
  auto item = Item(Ids(0, 12), 2);
  item.request.cache = CacheWish::kBypass;
  rig.Run({item});
  EXPECT_EQ(rig.pages.num_cached(), 0);
  rig.Run({Item(Ids(0, 12), 2)});
  EXPECT_EQ(rig.Run({item}).completions[0].witness.cached_tokens, 0);
}

TEST(SchedulerCacheTest, CanBeOff) {
  SchedulerRig rig(64, 4, /*radix_cache=*/false);
  rig.Run({Item(Ids(0, 12), 2)});
  EXPECT_EQ(CachedTokens(&rig, Ids(0, 12)), 0);
  EXPECT_EQ(rig.pages.num_free(), 64);
}

TEST(SchedulerCacheTest, FlushEmptiesAndIsRefusedWhileRequestsRun) {
  SchedulerRig rig;
  FlushResult during;
  rig.Run({Item(Ids(0, 12), 2), Item(Ids(50, 2), 2)}, [&](int item, int num_tokens) {
    if (item == 0 && num_tokens == 1) during = rig.pages.Flush();
  });
  EXPECT_FALSE(during.accepted);
  EXPECT_THAT(during.detail, HasSubstr("2 requests are running"));
  const FlushResult after = rig.pages.Flush();
  EXPECT_TRUE(after.accepted);
  EXPECT_EQ(after.detail, "3 pages emptied");
  EXPECT_EQ(rig.pages.num_free(), 64);
  EXPECT_EQ(CachedTokens(&rig, Ids(0, 12)), 0);
}

TEST(SchedulerCacheTest, EvictsWhatWasUsedLongestAgo) {
  SchedulerRig rig(/*num_pages=*/6);
  rig.Run({Item(Ids(0, 8), 1)});
  rig.Run({Item(Ids(100, 8), 1)});
  rig.Run({Item(Ids(0, 9), 1)});  // Uses the first again.
  EXPECT_EQ(rig.pages.num_free(), 2);
  rig.Run({Item(Ids(200, 12), 1)});  // Needs a third page.
  EXPECT_EQ(CachedTokens(&rig, Ids(100, 9)), 4) << "its end was evicted";
  EXPECT_TRUE(rig.NoPageLost());
}

// --- preemption ---------------------------------------------------------------------------------

TEST(SchedulerPreemptTest, TheYoungestGivesWayAndResumesWhereItWas) {
  SchedulerRig rig(/*num_pages=*/6, 4, /*radix_cache=*/false);
  const auto result = rig.Run({Item(Ids(0, 7), 9), Item(Ids(100, 7), 6)});
  // Two pages each; position 8 needs a third, both get it; position 12 needs a fourth.
  EXPECT_EQ(Show(result.steps), "0: 0p7 1p7 | 1-5: 0d 1d | 6-8: 0d");
  EXPECT_EQ(result.completions[0].witness.preemptions, 0);
  EXPECT_EQ(result.completions[1].witness.preemptions, 0);

  SchedulerRig small(/*num_pages=*/5, 4, /*radix_cache=*/false);
  const auto pressed = small.Run({Item(Ids(0, 7), 5), Item(Ids(100, 7), 6)});
  EXPECT_EQ(Show(pressed.steps), "0: 0p7 1p7 | 1: 0d 1d | 2-4: 0d | 5: 1p9 | 6-8: 1d");
  const Witness& witness = pressed.completions[1].witness;
  EXPECT_EQ(witness.preemptions, 1);
  EXPECT_EQ(witness.cached_tokens, 0);
  EXPECT_THAT(witness.chunk_ends, ::testing::IsEmpty());
  EXPECT_EQ(pressed.completions[1].token_ids, ExpectedAnswer(Ids(100, 7), 6));
  EXPECT_EQ(pressed.completions[0].token_ids, ExpectedAnswer(Ids(0, 7), 5));
  EXPECT_THAT(small.ops.steps[5].draws, ::testing::ElementsAre(9)) << "the third token";
  EXPECT_TRUE(small.NoPageLost());
}

TEST(SchedulerPreemptTest, ResumeIsChunkedAndCountsTheNeighboursPrefill) {
  SchedulerRig rig(/*num_pages=*/5, 4, /*radix_cache=*/false);
  rig.limits.chunked_prefill_size = 4;
  // Item 1 finds no third page and item 2 waits behind it, both until item 0 ends.
  const auto result = rig.Run({Item(Ids(0, 7), 12), Item(Ids(100, 6), 6, AfterTokens(0, 1)),
                               Item(Ids(200, 2), 1, AfterTokens(1, 1))});
  EXPECT_EQ(Show(result.steps),
            "0: 0p4 | 1: 0p3 | 2: 0d 1p4 | 3: 0d 1p2 | 4-5: 0d 1d | 6-12: 0d | 13-14: 1p4 | "
            "15: 1p1 2p2 | 16-17: 1d");
  EXPECT_EQ(result.completions[1].token_ids, ExpectedAnswer(Ids(100, 6), 6));
  const Witness& witness = result.completions[1].witness;
  EXPECT_EQ(witness.preemptions, 1);
  EXPECT_EQ(witness.interleaved_prefill_tokens, 2) << "its own prefill is not a neighbour's";
  EXPECT_EQ(witness.same_step_prefill_tokens, 0);
  EXPECT_EQ(witness.formed_size, 2);
  EXPECT_THAT(witness.chunk_ends, ::testing::ElementsAre(4)) << "of the prefill that answered";
}

TEST(SchedulerPreemptTest, AdmissionLeavesAPageForEachRunningRequest) {
  // Items 0 and 1 hold a page each and item 2 needs one: of four pages two would not be left.
  SchedulerRig rig(/*num_pages=*/4, 4, /*radix_cache=*/false);
  auto items = {Item(Ids(0, 2), 3), Item(Ids(100, 2), 2), Item(Ids(200, 2), 1)};
  EXPECT_EQ(Show(rig.Run(items).steps), "0: 0p2 1p2 | 1: 0d 1d | 2: 0d 2p2");
  SchedulerRig larger(/*num_pages=*/5, 4, /*radix_cache=*/false);
  EXPECT_EQ(Show(larger.Run(items).steps), "0: 0p2 1p2 2p2 | 1: 0d 1d | 2: 0d");
}

TEST(SchedulerPreemptTest, ARequestPreemptedInItsPrefillBeginsItAgain) {
  SchedulerRig rig(/*num_pages=*/5, 4, /*radix_cache=*/false);
  rig.limits.chunked_prefill_size = 2;
  // At step 7 item 0 needs a third page, and item 1 has three with a token of its prompt to go.
  const auto result = rig.Run({Item(Ids(0, 3), 9), Item(Ids(100, 11), 1, AfterTokens(0, 1))});
  EXPECT_EQ(Show(result.steps), "0: 0p2 | 1: 0p1 | 2-6: 0d 1p2 | 7-9: 0d | 10-14: 1p2 | 15: 1p1");
  EXPECT_EQ(result.completions[1].witness.preemptions, 1);
  EXPECT_THAT(result.completions[1].witness.chunk_ends, ::testing::ElementsAre(2, 4, 6, 8, 10));
  EXPECT_EQ(result.completions[1].token_ids, ExpectedAnswer(Ids(100, 11), 1));
}

TEST(SchedulerPreemptTest, RandomBatchesOnSmallPools) {
  Rng rng(1);
  int num_preempted = 0;
  for (int round = 0; round < 400; ++round) {
    const int page_size = rng.Between(1, 5);
    SchedulerRig rig(rng.Between(40 / page_size, 80 / page_size), page_size, rng.Below(2) == 0);
    rig.limits.chunked_prefill_size = rng.Between(1, 20);
    rig.limits.max_running_requests = rng.Between(1, 8);
    for (int batch = 0; batch < 3; ++batch) {
      std::vector<BatchItem> items;
      const int num_items = rng.Between(1, 8);
      for (int i = 0; i < num_items; ++i) {
        items.push_back(Item(Ids(rng.Between(0, 1) * 100, rng.Between(1, 20)), rng.Between(1, 16)));
        if (i > 0 && rng.Below(2) == 0) items[i].release = AfterTokens(rng.Between(0, i - 1), 2);
        if (rng.Below(4) == 0) items[i].release = AtStep(rng.Between(0, 12));
        if (rng.Below(4) == 0) items[i].request.cache = CacheWish::kBypass;
      }
      const auto result = rig.Run(items);
      for (int i = 0; i < num_items; ++i) {
        const Request& request = items[i].request;
        EXPECT_EQ(result.completions[i].token_ids,
                  ExpectedAnswer(request.prompt_ids, request.max_new_tokens));
        num_preempted += *result.completions[i].witness.preemptions > 0;
      }
      EXPECT_TRUE(rig.NoPageLost());
    }
  }
  EXPECT_GT(num_preempted, 300);
}

}  // namespace
}  // namespace detcheck
