#include "engine/remote/remote_witness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace detcheck {
namespace {

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
  const auto witnesses = WitnessRequests(spans, {Look(2, 2, 3), Look(3, 3, 3)}, true);
  EXPECT_EQ(witnesses[0].source, WitnessSource::kServer);
  EXPECT_EQ(witnesses[0].formed_size, 3);
}

TEST(RemoteWitness, OverlapDoesNotStandInForCountersThatSayOtherwise) {
  const std::vector<RequestSpan> spans = {Span(0, 1, 5), Span(0, 1, 5)};
  EXPECT_EQ(WitnessRequests(spans, {Look(2, 1, 2)}, true)[0].formed_size, 1);
}

TEST(RemoteWitness, LooksOutsideARequestsTokensDoNotCount) {
  const std::vector<RequestSpan> spans = {Span(0, 1, 2), Span(0, 3, 5)};
  const auto witnesses = WitnessRequests(spans, {Look(4, 2, 2)}, true);
  EXPECT_EQ(witnesses[0].source, WitnessSource::kClientOverlap);
  EXPECT_EQ(witnesses[0].formed_size, 1);
  EXPECT_EQ(witnesses[1].formed_size, 1) << "the other one was no longer under way";
}

TEST(RemoteWitness, ACounterThatLagsIsCutToWhatWasUnderWay) {
  EXPECT_EQ(WitnessRequests({Span(0, 1, 5)}, {Look(2, 8, 1)}, true)[0].formed_size, 1);
}

TEST(RemoteWitness, OverlapCountsRequestsBetweenFirstAndLastToken) {
  const std::vector<RequestSpan> spans = {Span(0, 1, 5), Span(0, 2, 3), Span(0, 4, 6),
                                          Span(0, 7, 9)};
  const auto witnesses = WitnessRequests(spans, {}, false);
  EXPECT_EQ(witnesses[0].source, WitnessSource::kClientOverlap);
  EXPECT_EQ(witnesses[0].formed_size, 2) << "the second had ended when the third began";
  EXPECT_EQ(witnesses[1].formed_size, 2);
  EXPECT_EQ(witnesses[3].formed_size, 1);
}

TEST(RemoteWitness, ARequestWithoutTokensShowsWhatItsAnswerTellsAlone) {
  RequestSpan span = Span(0, 1, 2);
  span.first_token_s.reset();
  span.last_token_s.reset();
  EXPECT_EQ(WitnessRequests({span}, {}, false)[0].source, WitnessSource::kServer);
  EXPECT_EQ(WitnessRequests({span}, {}, false)[0].formed_size, std::nullopt);
  span.cached_tokens.reset();
  EXPECT_EQ(WitnessRequests({span}, {}, false)[0].source, WitnessSource::kNone);
}

TEST(RemoteWitness, PrefillBesideIsOfNeighboursThatArrivedAndBeganMeanwhile) {
  const std::vector<RequestSpan> spans = {Span(0, 1, 5), Span(2, 3, 4, 300, 44),
                                          Span(0, 1, 6, 900)};
  const auto witnesses = WitnessRequests(spans, {}, false);
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

}  // namespace
}  // namespace detcheck
