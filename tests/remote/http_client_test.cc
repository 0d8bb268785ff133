#include "engine/remote/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <latch>
#include <thread>

#include "engine/base/error.h"
#include "tests/remote/client_testing.h"
#include "tests/servers/mock_server.h"

namespace detcheck {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

MockScript Echo(const MockRequest& request) {
  return MockScript().Send(MockReply(200, request.body, {"X-Queue-Time:  5 "}));
}

/// A stream of `num_events` events "0", "1", …, each after a wait.
MockScript Counting(int num_events, std::chrono::microseconds wait) {
  MockScript script;
  script.Send(MockStreamHead());
  for (int i = 0; i < num_events; ++i) script.Wait(wait).Send(MockEvent(std::to_string(i)));
  return script.Send(MockChunk(""));
}

TEST(HttpClientTest, WhatIsSentAndWhatComesBack) {
  MockServer server(Echo);
  Endpoint endpoint = ParseEndpoint(server.url() + "/base/");
  endpoint.bearer_key = "s3cret";
  HttpClient client(endpoint);
  const std::atomic<bool> stop = false;
  HttpRequest request = Post("/generate?x=y", BodyFormat::kWhole, R"({"n": 1})");
  request.headers = {{"X-Request", "r1"}};
  const HttpResult result = client.Run(request, stop);

  EXPECT_EQ(result.error, HttpError::kNone) << result.message;
  EXPECT_EQ(result.message, "");
  EXPECT_EQ(result.status, 200);
  EXPECT_EQ(result.body, R"({"n": 1})");
  EXPECT_EQ(result.received_bytes, 8u);
  ASSERT_NE(result.FindHeader("x-queue-time"), nullptr);
  EXPECT_EQ(*result.FindHeader("x-queue-time"), "5");
  const MockRequest seen = server.requests().at(0);
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.target, "/base/generate?x=y");
  EXPECT_EQ(seen.body, R"({"n": 1})");
  EXPECT_EQ(seen.headers.at("authorization"), "Bearer s3cret");
  EXPECT_EQ(seen.headers.at("content-type"), "application/json");
  EXPECT_EQ(seen.headers.at("content-length"), "8");
  EXPECT_EQ(seen.headers.at("connection"), "close");
  EXPECT_EQ(seen.headers.at("x-request"), "r1");
  EXPECT_EQ(seen.headers.count("expect"), 0u);
}

TEST(HttpClientTest, LargeBodyArrivesWhole) {
  MockServer server(Echo);
  std::string body;
  for (int i = 0; body.size() < 3'000'000; ++i) body += std::to_string(i) + ",";
  const HttpResult result = Ask(server.url(), Post("/", BodyFormat::kWhole, body));
  EXPECT_EQ(result.error, HttpError::kNone) << result.message;
  EXPECT_EQ(result.body, body);
  // By itself libcurl asks for leave to send so much, and waits a second for it.
  EXPECT_EQ(server.requests().at(0).headers.count("expect"), 0u);
}

TEST(HttpClientTest, GetHasNoBody) {
  MockServer server(
      [](const MockRequest& request) { return MockScript().Send(MockReply(200, request.method)); });
  const HttpResult result = Ask(server.url(), Get("/v1/models"));
  EXPECT_EQ(result.body, "GET");
  EXPECT_EQ(server.requests().at(0).headers.count("content-type"), 0u);
}

TEST(HttpClientTest, TimesAreInOrder) {
  MockServer server([](const MockRequest&) {
    MockScript script;
    script.Wait(milliseconds(60)).Send(MockStreamHead()).Wait(milliseconds(60));
    script.Send(MockEvent("a")).Wait(milliseconds(60)).Send(MockEvent("b")).Send(MockChunk(""));
    return script;
  });
  double most_to_event = 0.0;
  double most_to_end = 0.0;
  // A client that a busy machine lets wait reads together what was sent 60 ms apart.
  for (int i = 0; i < 20 && (most_to_event < 0.02 || most_to_end < 0.02); ++i) {
    const HttpTimes times = Ask(server.url(), Post("/", BodyFormat::kSse)).times;
    EXPECT_LE(*times.opened, *times.sent);
    EXPECT_GE(*times.first_byte - *times.sent, 0.06);
    EXPECT_LE(*times.first_byte, *times.first_event);
    EXPECT_LE(*times.first_event, *times.last_byte);
    EXPECT_LE(*times.last_byte, times.ended);
    most_to_event = std::max(most_to_event, *times.first_event - *times.first_byte);
    most_to_end = std::max(most_to_end, *times.last_byte - *times.first_event);
  }
  EXPECT_GE(most_to_event, 0.02);
  EXPECT_GE(most_to_end, 0.02);
}

TEST(HttpClientTest, StreamOfJsonThatWasNotAskedForIsKeptWhole) {
  MockServer server(Echo);
  std::vector<std::string> events;
  const HttpResult result = Ask(server.url(), Post("/", BodyFormat::kSse, "{\"a\": 1}"), &events);
  EXPECT_EQ(result.error, HttpError::kNone);
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(result.body, "{\"a\": 1}");
}

TEST(HttpClientTest, NdjsonStream) {
  MockServer server([](const MockRequest&) {
    MockScript script;
    script.Send(MockStreamHead("application/x-ndjson"));
    return script.Send(MockChunk("{\"a\":1}\n{\"b\"")).Send(MockChunk(":2}\n")).Send(MockChunk(""));
  });
  std::vector<std::string> events;
  Ask(server.url(), Post("/api/generate", BodyFormat::kNdjson), &events);
  EXPECT_THAT(events, ElementsAre("{\"a\":1}", "{\"b\":2}"));
}

TEST(HttpClientTest, StreamWhoseLastEventLacksItsBlankLine) {
  MockServer server([](const MockRequest&) {
    MockScript script;
    script.Send(MockStreamHead() + MockChunk("data: a\n\ndata: b"));
    return script.Wait(milliseconds(5)).Send(MockChunk(""));
  });
  std::vector<std::string> events;
  const HttpResult result = Ask(server.url(), Post("/", BodyFormat::kSse), &events);
  EXPECT_EQ(result.error, HttpError::kNone);
  EXPECT_EQ(result.unfinished_bytes, 0u);
  EXPECT_THAT(events, ElementsAre("a", "b"));
}

TEST(HttpClientTest, InterimAnswersDoNotCount) {
  MockServer server([](const MockRequest&) {
    return MockScript().Send("HTTP/1.1 102 Processing\r\nRetry-After: 9\r\n\r\n" +
                             MockReply(200, "{}"));
  });
  const HttpResult result = Ask(server.url(), Post("/"));
  EXPECT_EQ(result.error, HttpError::kNone) << result.message;
  EXPECT_EQ(result.status, 200);
  EXPECT_EQ(result.retry_after_s, std::nullopt);
}

TEST(HttpClientTest, ClosesOneStreamInTheMiddleAndNoOther) {
  MockServer server([](const MockRequest&) { return Counting(30, milliseconds(2)); });
  HttpClient client(ParseEndpoint(server.url()));
  const std::atomic<bool> stop = false;
  std::vector<int> num_events(2);
  HttpCallbacks callbacks;
  callbacks.on_event = [&](int request, const StreamEvent&) {
    ++num_events[request];
    return StreamProgress{.tokens = num_events[request],
                          .close = request == 0 && num_events[0] == 5};
  };
  const HttpRequest request = Post("/", BodyFormat::kSse);
  const std::vector<HttpResult> results =
      client.RunTogether({request, request}, {}, callbacks, stop);
  EXPECT_EQ(results[0].error, HttpError::kClosed);
  EXPECT_FALSE(results[0].Failed());
  EXPECT_EQ(results[0].message, "");
  EXPECT_EQ(results[0].num_events, 5);
  EXPECT_EQ(results[1].error, HttpError::kNone);
  EXPECT_EQ(results[1].num_events, 30);
  EXPECT_EQ(num_events[0], 5);
  EXPECT_EQ(server.num_hung_up(), 1);
}

TEST(HttpClientTest, EventsOfTheSameReadAreNotHandedOverAfterTheClose) {
  MockServer server([](const MockRequest&) {
    return MockScript().Send(MockStreamHead() + MockEvent("a") + MockEvent("b") + MockChunk(""));
  });
  HttpClient client(ParseEndpoint(server.url()));
  const std::atomic<bool> stop = false;
  int num_events = 0;
  HttpCallbacks callbacks;
  callbacks.on_event = [&](int, const StreamEvent&) {
    ++num_events;
    return StreamProgress{.tokens = 1, .close = true};
  };
  const HttpResult result =
      client.RunTogether({Post("/", BodyFormat::kSse)}, {}, callbacks, stop).front();
  EXPECT_EQ(num_events, 1);
  EXPECT_EQ(result.error, HttpError::kClosed);
}

TEST(HttpClientTest, StopFlagEndsEverythingAndKeepsWhatCame) {
  MockServer server([](const MockRequest& request) {
    if (request.target == "/quick") return MockScript().Send(MockReply(200, "{}"));
    return MockScript().Send(MockStreamHead()).Send(MockEvent("a")).Stall();
  });
  HttpClient client(ParseEndpoint(server.url()));
  std::atomic<bool> stop = false;
  Heard heard(3);
  std::latch first_event(1);
  HttpCallbacks callbacks = heard.Callbacks();
  callbacks.on_event = [&, hear = callbacks.on_event](int request, const StreamEvent& event) {
    first_event.count_down();
    return hear(request, event);
  };
  std::thread stopper([&] {
    for (int i = 0; i < 600 && !first_event.try_wait(); ++i) {
      std::this_thread::sleep_for(milliseconds(50));
    }
    std::this_thread::sleep_for(milliseconds(50));  // By then nothing more comes.
    stop = true;
  });
  // The stream begins after the quick answer has come.
  const std::vector<HttpResult> results = client.RunTogether(
      {Post("/quick"), After(Post("/", BodyFormat::kSse), 0, 1), After(Post("/late"), 1, 2)}, {},
      callbacks, stop);
  stopper.join();
  EXPECT_EQ(results[0].error, HttpError::kNone);
  EXPECT_EQ(results[1].error, HttpError::kInterrupted);
  EXPECT_EQ(results[1].num_events, 1);
  EXPECT_THAT(heard.events[1], ElementsAre("a"));
  EXPECT_EQ(results[2].error, HttpError::kInterrupted);
  EXPECT_FALSE(results[2].times.sent.has_value());
  EXPECT_LT(results[1].times.ended - *results[1].times.first_event, 5.0);
}

TEST(HttpClientTest, ExceptionOfACallbackIsPassedOnAndTheClientStaysGood) {
  MockServer server([](const MockRequest&) { return Counting(5, milliseconds(1)); });
  HttpClient client(ParseEndpoint(server.url()));
  const std::atomic<bool> stop = false;
  HttpCallbacks callbacks;
  callbacks.on_event = [](int, const StreamEvent&) -> StreamProgress {
    throw std::logic_error("bug");
  };
  const std::vector<HttpRequest> requests(3, Post("/", BodyFormat::kSse));
  EXPECT_THROW(client.RunTogether(requests, {}, callbacks, stop), std::logic_error);
  EXPECT_EQ(client.Run(requests[0], stop).num_events, 5);
}

TEST(HttpClientTest, PollsGoOnUntilTheLastRequestHasEnded) {
  MockServer server([](const MockRequest& request) {
    if (request.target == "/metrics") {
      EXPECT_EQ(request.headers.count("connection"), 0u);
      return MockScript().Send(MockReply(200, "running 1"));
    }
    if (request.target == "/slots") return MockScript().Send(MockReply(503, "loading"));
    return Counting(60, milliseconds(10));
  });
  HttpClient client(ParseEndpoint(server.url()));
  const std::atomic<bool> stop = false;
  Heard heard(1);
  HttpCallbacks callbacks = heard.Callbacks();
  std::vector<int> num_polls(2);
  callbacks.on_poll = [&](int poll, const HttpResult& result) {
    ++num_polls[poll];
    EXPECT_EQ(result.error, poll == 0 ? HttpError::kNone : HttpError::kStatus);
    EXPECT_EQ(result.body, poll == 0 ? "running 1" : "loading");
  };
  const std::vector<HttpResult> results =
      client.RunTogether({Post("/", BodyFormat::kSse)},
                         {{Get("/metrics"), 0.02}, {Get("/slots"), 0.1}}, callbacks, stop);
  const double ended = results[0].times.ended;
  EXPECT_GE(ended, 0.6);
  EXPECT_GE(num_polls[0], 5);
  EXPECT_LE(num_polls[0], ended / 0.02 + 2) << "one more at the first token";
  EXPECT_GE(num_polls[1], 1);
  EXPECT_LE(num_polls[1], ended / 0.1 + 2);
  EXPECT_EQ(heard.events[0].size(), 60u);
}

TEST(HttpClientTest, ProxyOfTheEnvironmentOnlyWhereAskedFor) {
  MockServer server(Echo);
  MockServer proxy([](const MockRequest&) { return MockScript().Send(MockReply(200, "proxy")); });
  setenv("http_proxy", proxy.url().c_str(), 1);
  EXPECT_EQ(Ask(server.url(), Post("/", BodyFormat::kWhole, "mine")).body, "mine");
  Endpoint endpoint = ParseEndpoint(server.url());
  endpoint.proxy_from_environment = true;
  const std::atomic<bool> stop = false;
  EXPECT_EQ(HttpClient(endpoint).Run(Post("/"), stop).body, "proxy");
  unsetenv("http_proxy");
}

}  // namespace
}  // namespace detcheck
