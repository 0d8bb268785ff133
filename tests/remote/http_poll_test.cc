// Looks at a server's counters while requests run.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "tests/remote/client_testing.h"
#include "tests/servers/mock_server.h"

namespace detcheck {
namespace {

using std::chrono::milliseconds;

constexpr double kNeverAgain_s = 3600.0;

/// A stream of one token, after so many milliseconds, and its end 200 ms later.
MockScript Stream(int first_token_ms) {
  return MockScript()
      .Send(MockStreamHead())
      .Wait(milliseconds(first_token_ms))
      .Send(MockEvent("token"))
      .Wait(milliseconds(200))
      .Send(MockChunk(""));
}

struct Looks {
  std::vector<HttpResult> results;  ///< Of the requests.
  std::vector<HttpResult> looks;
};

Looks RunWithLooks(const MockServer& server, const std::vector<HttpRequest>& requests,
                   double interval_s) {
  HttpClient client(ParseEndpoint(server.url()));
  const std::atomic<bool> stop = false;
  Heard heard(requests.size());
  Looks seen;
  HttpCallbacks callbacks = heard.Callbacks();
  callbacks.on_poll = [&seen](int, const HttpResult& look) { seen.looks.push_back(look); };
  seen.results = client.RunTogether(requests, {{Get("/look"), interval_s}}, callbacks, stop);
  return seen;
}

TEST(HttpPollTest, ALookComesWhenTheLastOneHasItsFirstToken) {
  const MockServer server([](const MockRequest& request) {
    if (request.target == "/look") return MockScript().Send(MockReply(200, "{}"));
    return Stream(request.target == "/slow" ? 100 : 20);
  });
  const Looks seen = RunWithLooks(
      server, {Post("/fast", BodyFormat::kSse), Post("/slow", BodyFormat::kSse)}, kNeverAgain_s);
  ASSERT_EQ(seen.looks.size(), 2u) << "one at the release, one when both had begun";
  EXPECT_GE(*seen.looks[0].times.sent, *seen.results[0].times.sent);
  EXPECT_LT(*seen.looks[0].times.sent, *seen.results[0].times.first_event);
  EXPECT_GE(*seen.looks[1].times.sent, *seen.results[1].times.first_event);
  EXPECT_LT(seen.looks[1].times.ended, seen.results[0].times.ended);
}

TEST(HttpPollTest, ALookThatWasUnderWayThenIsFollowedByAnother) {
  const MockServer server([](const MockRequest& request) {
    if (request.target != "/look") return Stream(20);
    return MockScript().Wait(milliseconds(60)).Send(MockReply(200, "{}"));
  });
  const Looks seen = RunWithLooks(server, {Post("/", BodyFormat::kSse)}, kNeverAgain_s);
  ASSERT_EQ(seen.looks.size(), 2u);
  EXPECT_LT(*seen.looks[0].times.sent, *seen.results[0].times.first_event);
  EXPECT_GE(*seen.looks[1].times.sent, seen.looks[0].times.ended);
}

TEST(HttpPollTest, NothingIsLookedAtBeforeTheRelease) {
  const MockServer server([](const MockRequest& request) {
    return request.target == "/look" ? MockScript().Send(MockReply(200, "{}")) : Stream(20);
  });
  const std::vector<HttpRequest> requests(64,
                                          Post("/", BodyFormat::kSse, std::string(50'000, 'x')));
  const Looks seen = RunWithLooks(server, requests, 0.001);
  ASSERT_FALSE(seen.looks.empty());
  for (const HttpResult& look : seen.looks) {
    EXPECT_GE(*look.times.sent, *seen.results[0].times.opened);
  }
}

}  // namespace
}  // namespace detcheck
