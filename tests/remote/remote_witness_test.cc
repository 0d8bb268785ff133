#include "engine/remote/remote_witness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace detcheck {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RequestSpan Span(double sent_s, double first_s, double last_s, int prompt = 10, int cached = 0) {
  return {sent_s, first_s, last_s, last_s + 0.01, 8, prompt, cached};
}

TimedLoad Look(double at_s, int running, int total) {
  LoadSample load;
  load.running = running;
  load.total = total;
  return {at_s, at_s + 0.001, load};
}

TEST(RemoteWitness, CountersTellTheFormedSize) {
  const std::vector<RequestSpan> spans = {Span(0, 1, 5), Span(0, 1, 5), Span(0, 1, 5)};
  const auto witnesses = WitnessRequests(spans, {Look(2, 2, 3), Look(3, 3, 3)}, {});
  EXPECT_EQ(witnesses[0].source, WitnessSource::kServer);
  EXPECT_EQ(witnesses[0].formed_size, 3);
}

TEST(RemoteWitness, OverlapDoesNotStandInForCountersThatSayOtherwise) {
  const std::vector<RequestSpan> spans = {Span(0, 1, 5), Span(0, 1, 5)};
  EXPECT_EQ(WitnessRequests(spans, {Look(2, 1, 2)}, {})[0].formed_size, 1);
}

TEST(RemoteWitness, LooksOutsideARequestsTokensDoNotCount) {
  const std::vector<RequestSpan> spans = {Span(0, 1, 2), Span(0, 3, 5)};
  const auto witnesses = WitnessRequests(spans, {Look(4, 2, 2)}, {});
  EXPECT_EQ(witnesses[0].source, WitnessSource::kClientOverlap);
  EXPECT_EQ(witnesses[0].formed_size, 1);
  EXPECT_EQ(witnesses[1].formed_size, 1) << "the other one was no longer under way";
}

TEST(RemoteWitness, ACounterThatLagsIsCutToWhatWasUnderWay) {
  EXPECT_EQ(WitnessRequests({Span(0, 1, 5)}, {Look(2, 8, 1)}, {})[0].formed_size, 1);
}

/// Spans that the client's clock shows one after the other, of so many tokens each.
std::vector<RequestSpan> OneByOne(const std::vector<int>& num_tokens) {
  std::vector<RequestSpan> spans;
  for (size_t i = 0; i < num_tokens.size(); ++i) {
    const auto at = static_cast<double>(2 * i);
    spans.push_back(Span(0, at, at + 1));
    spans.back().num_tokens = num_tokens[i];
  }
  return spans;
}

/// So many steps, which gave the spans' tokens and no others.
TokenSteps Steps(const std::vector<RequestSpan>& spans, int num_steps) {
  TokenSteps steps{num_steps, 0};
  for (const RequestSpan& span : spans) steps.num_tokens += span.num_tokens;
  return steps;
}

std::vector<int> FormedIn(const std::vector<RequestSpan>& spans, int num_steps) {
  std::vector<int> formed;
  for (const Witness& witness : WitnessRequests(spans, {}, Steps(spans, num_steps))) {
    formed.push_back(*witness.formed_size);
  }
  return formed;
}

TEST(RemoteWitness, FewerStepsThanTokensMeanThatStepsWereShared) {
  EXPECT_THAT(FormedIn(OneByOne({8, 8, 8}), 8), ElementsAre(3, 3, 3));
  EXPECT_THAT(FormedIn(OneByOne({8, 8, 8}), 15), ElementsAre(3, 3, 3));
  const auto witnesses = WitnessRequests(OneByOne({8, 8, 8}), {}, TokenSteps{15, 24});
  EXPECT_EQ(witnesses[0].source, WitnessSource::kServer);
}

TEST(RemoteWitness, StepsThatAnyTwoCouldHaveHadApartShowNothing) {
  EXPECT_THAT(FormedIn(OneByOne({8, 8, 8}), 16), ElementsAre(1, 1, 1));
  EXPECT_THAT(FormedIn(OneByOne({16, 4, 3}), 18), ElementsAre(2, 2, 2))
      << "4 and 3 tokens need not have shared a step, each did with the 16";
}

TEST(RemoteWitness, AsManyStepsAsTokensMeanThatNoneWasShared) {
  const std::vector<RequestSpan> together = {Span(0, 1, 5), Span(0, 1, 5)};
  EXPECT_THAT(FormedIn(together, 16), ElementsAre(1, 1)) << "whatever the client's clock says";
  EXPECT_THAT(FormedIn(together, 15), ElementsAre(2, 2));
}

TEST(RemoteWitness, StepsDoNotMakeABatchSmallerThanItWasTold) {
  const std::vector<RequestSpan> spans = {Span(0, 1, 5), Span(0, 1, 5)};
  EXPECT_EQ(WitnessRequests(spans, {Look(2, 2, 2)}, TokenSteps{16, 16})[0].formed_size, 2);
}

TEST(RemoteWitness, StepsThatCannotBeAllShowNothing) {
  const std::vector<RequestSpan> spans = {Span(0, 1, 2), Span(0, 3, 5)};
  const TokenSteps steps{7, 16};
  EXPECT_EQ(WitnessRequests(spans, {}, steps)[0].formed_size, 1) << "8 tokens in 7 steps";
  EXPECT_EQ(WitnessRequests(spans, {}, steps)[0].source, WitnessSource::kClientOverlap);
}

TEST(RemoteWitness, OverlapDoesNotStandInForStepsThatLeaveNoRoomForIt) {
  const std::vector<RequestSpan> three = {Span(0, 1, 5), Span(0, 1, 5), Span(0, 1, 5)};
  EXPECT_THAT(FormedIn(three, 15), ElementsAre(3, 3, 3));
  EXPECT_THAT(FormedIn(three, 16), ElementsAre(2, 2, 2)) << "two of them had no step in common";
  EXPECT_THAT(FormedIn(three, 23), ElementsAre(2, 2, 2));
  EXPECT_THAT(FormedIn(three, 24), ElementsAre(1, 1, 1));
  EXPECT_EQ(WitnessRequests(three, {}, TokenSteps{16, 24})[0].source,
            WitnessSource::kClientOverlap);
}

TEST(RemoteWitness, RoomInStepsIsThatOfUnequalAnswers) {
  std::vector<RequestSpan> spans(4, Span(0, 1, 5));
  spans[0].num_tokens = 2;
  spans[3].num_tokens = 10;
  // 2, 8, 8 and 10 tokens, 28 in all: the longest two of a batch take 17 steps, or the short one
  // and the longest 11; what is left runs alone.
  EXPECT_THAT(FormedIn(spans, 17), ElementsAre(4, 4, 4, 4));
  EXPECT_THAT(FormedIn(spans, 18), ElementsAre(3, 3, 3, 3));
  EXPECT_THAT(FormedIn(spans, 25), ElementsAre(3, 3, 3, 3)) << "2, 8 and 10 in 17, and 8 alone";
  EXPECT_THAT(FormedIn(spans, 26), ElementsAre(2, 2, 2, 2));
}

TEST(RemoteWitness, StepsOfTokensThatDidNotComeTellOnlyWhetherAnyWasShared) {
  const std::vector<RequestSpan> spans = {Span(0, 1, 5), Span(0, 1, 5)};
  EXPECT_EQ(WitnessRequests(spans, {}, TokenSteps{16, 20})[0].formed_size, 2) << "as overlap shows";
  EXPECT_EQ(WitnessRequests(spans, {}, TokenSteps{20, 20})[0].formed_size, 1);
}

TEST(RemoteWitness, ALookThatSeesAsManyAsThereAreSeesAllOfThem) {
  // Prefilled, without a token yet.
  const std::vector<RequestSpan> spans = {Span(0, 3, 5), Span(1, 4, 5)};
  const auto witnesses = WitnessRequests(spans, {Look(2, 2, 2)}, {});
  EXPECT_EQ(witnesses[0].formed_size, 2);
  EXPECT_EQ(witnesses[1].formed_size, 2);
  EXPECT_EQ(witnesses[1].source, WitnessSource::kServer);
}

TEST(RemoteWitness, ALookShowsAllOnlyWhereAllWereUnderWay) {
  const std::vector<RequestSpan> spans = {Span(0, 1, 2), Span(2.5, 4, 5)};
  for (const double at_s : {1.5, 3.0}) {
    const auto witnesses = WitnessRequests(spans, {Look(at_s, 2, 2)}, {});
    EXPECT_EQ(witnesses[1].formed_size, 1) << "one of the two that ran was not ours";
  }
}

TEST(RemoteWitness, ALookThatCountsRequestsYetToStartShowsNothingBeforeTheirTokens) {
  const std::vector<RequestSpan> spans = {Span(0, 3, 5), Span(1, 6, 7)};
  TimedLoad look = Look(2, 2, 2);
  look.load.counts_starting = true;
  EXPECT_EQ(WitnessRequests(spans, {look}, {})[0].formed_size, 1);
}

TEST(TokenStepsBetween, NeedsAllTokensAndNoPreemption) {
  const std::vector<RequestSpan> spans = {Span(0, 1, 2), Span(0, 1, 2)};
  LoadSample before;
  before.generated = 100;
  before.token_steps = 40;
  before.preempted = 1;
  LoadSample after = before;
  after.generated = 116;
  after.token_steps = 49;
  const auto steps = TokenStepsBetween(spans, before, after);
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->num_steps, 9);
  EXPECT_EQ(steps->num_tokens, 16);
  after.generated = 115;
  EXPECT_FALSE(TokenStepsBetween(spans, before, after)) << "the last step is missing";
  after.generated = 116;
  after.preempted = 2;
  EXPECT_FALSE(TokenStepsBetween(spans, before, after));
  after.preempted = 1;
  after.token_steps.reset();
  EXPECT_FALSE(TokenStepsBetween(spans, before, after));
}

TEST(RemoteWitness, ALookThatSeesNothingRunIsLate) {
  const std::vector<RequestSpan> spans = {Span(0, 1, 5), Span(0, 1, 5)};
  const auto witnesses = WitnessRequests(spans, {Look(2, 0, 0)}, {});
  EXPECT_EQ(witnesses[0].source, WitnessSource::kClientOverlap);
  EXPECT_EQ(witnesses[0].formed_size, 2);
}

TEST(RemoteWitness, OverlapCountsRequestsBetweenFirstAndLastToken) {
  const std::vector<RequestSpan> spans = {Span(0, 1, 5), Span(0, 2, 3), Span(0, 4, 6),
                                          Span(0, 7, 9)};
  const auto witnesses = WitnessRequests(spans, {}, {});
  EXPECT_EQ(witnesses[0].source, WitnessSource::kClientOverlap);
  EXPECT_EQ(witnesses[0].formed_size, 2) << "the second had ended when the third began";
  EXPECT_EQ(witnesses[1].formed_size, 2);
  EXPECT_EQ(witnesses[3].formed_size, 1);
}

TEST(RemoteWitness, ARequestWithoutTokensShowsWhatItsAnswerTellsAlone) {
  RequestSpan span = Span(0, 1, 2);
  span.first_token_s.reset();
  span.last_token_s.reset();
  EXPECT_EQ(WitnessRequests({span}, {}, {})[0].source, WitnessSource::kServer);
  EXPECT_EQ(WitnessRequests({span}, {}, {})[0].formed_size, std::nullopt);
  span.cached_tokens.reset();
  EXPECT_EQ(WitnessRequests({span}, {}, {})[0].source, WitnessSource::kNone);
}

TEST(RemoteWitness, PrefillBesideIsOfNeighboursThatArrivedAndBeganMeanwhile) {
  const std::vector<RequestSpan> spans = {Span(0, 1, 5), Span(2, 3, 4, 300, 44),
                                          Span(0, 1, 6, 900)};
  const auto witnesses = WitnessRequests(spans, {}, {});
  EXPECT_EQ(witnesses[0].interleaved_prefill_tokens, 256);
  EXPECT_EQ(witnesses[1].interleaved_prefill_tokens, 0);
}

TEST(OthersTraffic, MoreRequestsThanOurs) {
  EXPECT_THAT(OthersTraffic({Span(0, 1, 2)}, {}, {Look(1.5, 1, 2)}, {}, true),
              HasSubstr("2 requests running or waiting, 1 of this step"));
  EXPECT_EQ(OthersTraffic({Span(0, 1, 2)}, {}, {Look(1.5, 1, 1)}, {}, true), "");
}

TEST(OthersTraffic, RequestsAfterwards) {
  LoadSample after;
  after.total = 1;
  EXPECT_THAT(OthersTraffic({Span(0, 1, 2)}, {}, {}, after, true), HasSubstr("after the step"));
}

TEST(OthersTraffic, MoreTokensThanWereAnswered) {
  LoadSample before;
  before.generated = 100;
  LoadSample after;
  after.generated = 108;
  EXPECT_EQ(OthersTraffic({Span(0, 1, 2)}, before, {}, after, true), "");
  after.generated = 109;
  EXPECT_THAT(OthersTraffic({Span(0, 1, 2)}, before, {}, after, true),
              HasSubstr("generated 9 tokens, 8 of this step"));
  EXPECT_EQ(OthersTraffic({Span(0, 1, 2)}, before, {}, after, false), "")
      << "an aborted request may have generated more than was received";
  after.generated = 5;
  EXPECT_THAT(OthersTraffic({Span(0, 1, 2)}, before, {}, after, true), HasSubstr("started again"));
}

TEST(PreemptionsBetween, AreCountedWhereTheServerCounts) {
  LoadSample before;
  LoadSample after;
  EXPECT_EQ(PreemptionsBetween(before, after), std::nullopt);
  before.preempted = 3;
  after.preempted = 5;
  EXPECT_EQ(PreemptionsBetween(before, after), 2);
}

LoadSample Cache(double queries, double hits) {
  LoadSample sample;
  sample.cache_queries = queries;
  sample.cache_hits = hits;
  return sample;
}

/// Cached tokens of requests of 10 prompt tokens each that told `told`, after counters that said so
/// much more.
std::vector<std::optional<int>> Cached(const std::vector<std::optional<int>>& told, double queries,
                                       double hits) {
  std::vector<RequestSpan> spans;
  for (const std::optional<int>& one : told) {
    spans.push_back(Span(0, 1, 2));
    spans.back().cached_tokens = one;
  }
  FillInCachedTokens(Cache(100, 30), Cache(100 + queries, 30 + hits), &spans);
  std::vector<std::optional<int>> cached;
  for (const RequestSpan& span : spans) cached.push_back(span.cached_tokens);
  return cached;
}

TEST(FillInCachedTokens, WhatTheCountersLeaveNoChoiceAbout) {
  const std::nullopt_t none = std::nullopt;
  EXPECT_THAT(Cached({none}, 10, 8), ElementsAre(8));
  EXPECT_THAT(Cached({none, none}, 20, 0), ElementsAre(0, 0));
  EXPECT_THAT(Cached({none, 4, none}, 30, 4), ElementsAre(0, 4, 0));
  EXPECT_THAT(Cached({none, 4}, 20, 12), ElementsAre(8, 4));
  EXPECT_THAT(Cached({none, none}, 20, 8), ElementsAre(none, none)) << "whose they are is not told";
  EXPECT_THAT(Cached({none, 4}, 20, 3), ElementsAre(none, 4)) << "fewer than the answers told";
}

TEST(FillInCachedTokens, PromptsThatWereLookedUpAgainOrNotAtAll) {
  const std::nullopt_t none = std::nullopt;
  EXPECT_THAT(Cached({none}, 20, 16), ElementsAre(none)) << "the same 8 twice, or those of another";
  EXPECT_THAT(Cached({none}, 20, 0), ElementsAre(0));
  EXPECT_THAT(Cached({none}, 0, 0), ElementsAre(none)) << "the cache is off, or was not asked";
  std::vector<RequestSpan> spans = {Span(0, 1, 2)};
  spans[0].cached_tokens.reset();
  FillInCachedTokens({}, Cache(10, 0), &spans);
  EXPECT_EQ(spans[0].cached_tokens, std::nullopt);
  spans[0].prompt_tokens.reset();
  FillInCachedTokens(Cache(0, 0), Cache(10, 0), &spans);
  EXPECT_EQ(spans[0].cached_tokens, std::nullopt);
}

LoadSample Batches(double batches, double batched) {
  LoadSample sample;
  sample.batches = batches;
  sample.batched = batched;
  return sample;
}

TEST(Witness, OneGroupOfAllIsOneBatch) {
  EXPECT_TRUE(FormedTogether(Batches(3, 7), Batches(4, 11), 4));
  EXPECT_FALSE(FormedTogether(Batches(3, 7), Batches(5, 11), 4)) << "two groups";
  EXPECT_FALSE(FormedTogether(Batches(3, 7), Batches(4, 10), 4)) << "one of them is missing";
  EXPECT_FALSE(FormedTogether(LoadSample{}, Batches(4, 11), 4));
}

}  // namespace
}  // namespace detcheck
