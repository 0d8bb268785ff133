#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>

#include "engine/base/error.h"
#include "tests/remote/client_testing.h"
#include "tests/servers/mock_server.h"

namespace detcheck {
namespace {

using std::chrono::milliseconds;
using TimePoint = MockRequest::TimePoint;

double SecondsBetween(TimePoint from, TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}

/// The request with that target.
MockRequest Seen(const MockServer& server, const std::string& target) {
  for (const MockRequest& request : server.requests()) {
    if (request.target == target) return request;
  }
  ADD_FAILURE() << target << " was not asked for";
  return {};
}

MockScript Counting(const MockRequest&) {
  MockScript script;
  script.Send(MockStreamHead());
  for (int i = 0; i < 20; ++i) script.Wait(milliseconds(3)).Send(MockEvent(std::to_string(i)));
  return script.Send(MockChunk(""));
}

TEST(HttpReleaseTest, TogetherAfterAllAreOpenAndWithinMilliseconds) {
  constexpr int kRequests = 64;
  MockServer server([](const MockRequest&) { return MockScript().Send(MockReply(200, "{}")); });
  HttpClient client(ParseEndpoint(server.url()));
  const std::atomic<bool> stop = false;
  std::vector<double> spreads_ms;
  std::vector<double> client_spreads_ms;
  for (int round = 0; round < 5; ++round) {
    // Bodies of 4 KB, as a prompt of a thousand tokens has.
    const std::vector<HttpRequest> requests(kRequests,
                                            Post("/", BodyFormat::kWhole, std::string(4096, 'x')));
    const std::vector<HttpResult> results = client.RunTogether(requests, {}, {}, stop);
    const std::vector<MockRequest> all = server.requests();
    ASSERT_EQ(all.size(), static_cast<size_t>(kRequests * (round + 1)));
    TimePoint first_whole = TimePoint::max();
    TimePoint last_whole = TimePoint::min();
    for (size_t i = all.size() - kRequests; i < all.size(); ++i) {
      first_whole = std::min(first_whole, all[i].whole_at);
      last_whole = std::max(last_whole, all[i].whole_at);
    }
    spreads_ms.push_back(1e3 * SecondsBetween(first_whole, last_whole));
    double first_sent = 1e9;
    double last_sent = 0.0;
    for (size_t i = 0; i < results.size(); ++i) {
      ASSERT_EQ(results[i].error, HttpError::kNone) << results[i].message;
      first_sent = std::min(first_sent, *results[i].times.sent);
      last_sent = std::max(last_sent, *results[i].times.sent);
      EXPECT_LE(*results[i].times.opened, *results[0].times.sent);
      EXPECT_GE(*results[i].times.sent, *results[i == 0 ? 0 : i - 1].times.sent);
    }
    client_spreads_ms.push_back(1e3 * (last_sent - first_sent));
  }
  std::sort(spreads_ms.begin(), spreads_ms.end());
  std::sort(client_spreads_ms.begin(), client_spreads_ms.end());
  std::printf(
      "release of %d requests, ms from the first to the last: at the server min %.2f "
      "median %.2f max %.2f, at the client median %.2f\n",
      kRequests, spreads_ms.front(), spreads_ms[2], spreads_ms.back(), client_spreads_ms[2]);
  // Opened one after the other, as most clients do it, they would be spread over many milliseconds.
  EXPECT_LT(spreads_ms.front(), 20.0);
}

TEST(HttpReleaseTest, AnchoredRequestIsWrittenBeforeAndReleasedAfterTheToken) {
  MockServer server(Counting);
  HttpClient client(ParseEndpoint(server.url()));
  const std::atomic<bool> stop = false;
  Heard heard(3);
  const std::vector<HttpResult> results = client.RunTogether(
      {After(Post("/late", BodyFormat::kSse), 2, 10), After(Post("/soon", BodyFormat::kSse), 2, 1),
       Post("/anchor", BodyFormat::kSse)},
      {}, heard.Callbacks(), stop);
  for (const HttpResult& result : results) {
    EXPECT_EQ(result.error, HttpError::kNone) << result.message;
    EXPECT_EQ(result.num_events, 20);
  }
  const TimePoint anchor = Seen(server, "/anchor").whole_at;
  for (const char* target : {"/soon", "/late"}) {
    EXPECT_LT(Seen(server, target).all_but_one_at, anchor) << target;
  }
  EXPECT_GE(SecondsBetween(anchor, Seen(server, "/soon").whole_at), 0.003);
  EXPECT_GE(SecondsBetween(anchor, Seen(server, "/late").whole_at), 0.030);
  // On the client's clock: at once after the token that it waited for.
  EXPECT_GE(*results[1].times.sent, *results[2].times.first_event);
  EXPECT_LT(*results[1].times.sent, *results[2].times.first_event + 0.5);
  EXPECT_GT(*results[0].times.sent, *results[1].times.sent);
}

TEST(HttpReleaseTest, ServerHasAllButTheLastByteOfEachBeforeItsRelease) {
  constexpr int kHeld = 64;
  MockServer server([](const MockRequest& request) {
    if (request.target == "/") return MockScript().Send(MockReply(200, "{}"));
    return MockScript().Wait(milliseconds(1500)).Send(MockReply(200, "{}"));
  });
  HttpClient client(ParseEndpoint(server.url()));
  const std::atomic<bool> stop = false;
  const HttpRequest held = Post("/", BodyFormat::kWhole, std::string(100'000, 'x'));
  std::vector<HttpRequest> requests(kHeld, After(held, kHeld, 1));
  requests.push_back(Post("/anchor"));
  client.RunTogether(requests, {}, {}, stop);
  const TimePoint anchor = Seen(server, "/anchor").whole_at;
  for (const MockRequest& request : server.requests()) {
    if (request.target == "/anchor") continue;
    // Read while the anchor was being answered, long before the last byte came.
    EXPECT_LT(SecondsBetween(anchor, request.all_but_one_at), 1.4);
    EXPECT_GE(SecondsBetween(anchor, request.whole_at), 1.5);
    EXPECT_EQ(request.body.size(), 100'000u);
  }
}

TEST(HttpReleaseTest, ChainOfReleases) {
  MockServer server(Counting);
  HttpClient client(ParseEndpoint(server.url()));
  const std::atomic<bool> stop = false;
  Heard heard(3);
  const HttpRequest stream = Post("/", BodyFormat::kSse);
  const std::vector<HttpResult> results = client.RunTogether(
      {After(stream, 1, 3), After(stream, 2, 3), stream}, {}, heard.Callbacks(), stop);
  EXPECT_LT(*results[2].times.sent, *results[1].times.sent);
  EXPECT_LT(*results[1].times.sent, *results[0].times.sent);
  EXPECT_EQ(results[0].num_events, 20);
}

TEST(HttpReleaseTest, AnAnchorThatEndsOrFailsEarlierReleasesAtItsEnd) {
  MockServer server([](const MockRequest& request) {
    if (request.target == "/fails") return MockScript().Send(MockReply(500, "{}"));
    if (request.target == "/short") {
      return MockScript().Send(MockStreamHead() + MockEvent("a") + MockChunk(""));
    }
    return MockScript().Send(MockReply(200, "{}"));
  });
  HttpClient client(ParseEndpoint(server.url()));
  const std::atomic<bool> stop = false;
  Heard heard(4);
  const std::vector<HttpResult> results =
      client.RunTogether({Post("/fails"), After(Post("/a"), 0, 1), Post("/short", BodyFormat::kSse),
                          After(Get("/b"), 2, 100)},
                         {}, heard.Callbacks(), stop);
  EXPECT_EQ(results[0].error, HttpError::kStatus);
  EXPECT_EQ(results[1].error, HttpError::kNone) << results[1].message;
  EXPECT_GE(*results[1].times.sent, results[0].times.ended);
  EXPECT_EQ(results[3].error, HttpError::kNone) << results[3].message;
  EXPECT_GE(*results[3].times.sent, results[2].times.ended);
}

TEST(HttpReleaseTest, ARequestIsReleasedAfterItsNeighbourWasCancelled) {
  MockServer server(Counting);
  HttpClient client(ParseEndpoint(server.url()));
  const std::atomic<bool> stop = false;
  HttpCallbacks callbacks;
  callbacks.on_event = [](int request, const StreamEvent& event) {
    return StreamProgress{.tokens = event.index + 1, .close = request == 0 && event.index == 4};
  };
  const std::vector<HttpResult> results = client.RunTogether(
      {Post("/cancelled", BodyFormat::kSse), After(Post("/after", BodyFormat::kSse), 0, 1000)}, {},
      callbacks, stop);
  EXPECT_EQ(results[0].error, HttpError::kClosed);
  EXPECT_EQ(results[0].num_events, 5);
  EXPECT_EQ(results[1].error, HttpError::kNone);
  EXPECT_GE(*results[1].times.sent, results[0].times.ended);
}

TEST(HttpReleaseTest, NoDeadlineRunsWhileARequestIsHeld) {
  MockServer server([](const MockRequest& request) {
    const milliseconds wait(request.target == "/held" ? 0 : 1600);
    return MockScript().Wait(wait).Send(MockReply(200, "{}"));
  });
  HttpClient client(ParseEndpoint(server.url()));
  const std::atomic<bool> stop = false;
  HttpRequest held = After(Post("/held"), 0, 1);
  held.deadlines = {.open_s = 1.5, .first_byte_s = 1.5, .idle_s = 1.5, .total_s = 1.5};
  const std::vector<HttpResult> results = client.RunTogether({Post("/"), held}, {}, {}, stop);
  EXPECT_EQ(results[1].error, HttpError::kNone) << results[1].message;
}

TEST(HttpReleaseTest, ReleasesThatCannotHappenAreRefused) {
  HttpClient client(ParseEndpoint("http://127.0.0.1:1"));
  const std::atomic<bool> stop = false;
  HttpRequest at_step = Post("/");
  at_step.release.kind = Release::Kind::kAtEngineStep;
  for (const std::vector<HttpRequest>& requests :
       std::vector<std::vector<HttpRequest>>{{After(Post("/"), 0, 1)},
                                             {After(Post("/"), 1, 1), After(Post("/"), 0, 1)},
                                             {Post("/"), After(Post("/"), 2, 1)},
                                             {Post("/"), After(Post("/"), -1, 1)},
                                             {Post("/"), at_step}}) {
    EXPECT_THROW(client.RunTogether(requests, {}, {}, stop), Error);
  }
}

}  // namespace
}  // namespace detcheck
