#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <map>

#include "engine/remote/json_node.h"
#include "tests/remote/client_testing.h"
#include "tests/servers/mock_server.h"

namespace detcheck {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char kEvents[] = "data: one\n\ndata: two\n\n";

/// A stream of "one" and "two", then what `end` adds.
MockScript OneTwo(const std::function<void(MockScript*)>& end) {
  MockScript script;
  script.Send(MockStreamHead() + MockChunk(kEvents));
  end(&script);
  return script;
}

/// One streaming request to a server that answers with `script`.
HttpResult AskStream(const MockScript& script, std::vector<std::string>* events,
                     Deadlines deadlines = {.open_s = 5, .first_byte_s = 5, .idle_s = 5}) {
  MockServer server([&](const MockRequest&) { return script; });
  HttpRequest request = Post("/generate", BodyFormat::kSse);
  request.deadlines = deadlines;
  return Ask(server.url(), request, events);
}

TEST(HttpFaultsTest, ConnectionRefused) {
  const RefusingPort refusing;
  const int port = refusing.port();
  const HttpResult result =
      Ask("http://127.0.0.1:" + std::to_string(port), Post("/generate?key=s3cret"));
  EXPECT_EQ(result.error, HttpError::kRefused);
  EXPECT_EQ(result.message, "http://127.0.0.1:" + std::to_string(port) +
                                ", POST /generate: refused: Connection refused");
  EXPECT_EQ(result.status, 0);
  EXPECT_FALSE(result.times.sent.has_value());
}

TEST(HttpFaultsTest, UnknownHostIsNotNamed) {
  const HttpResult result = Ask("http://no-such-host.invalid:80", Post("/generate"));
  // Some resolvers answer late.
  EXPECT_THAT(result.error, AnyOf(HttpError::kResolve, HttpError::kOpenTimeout));
  EXPECT_THAT(result.message, Not(HasSubstr("no-such-host")));
  EXPECT_THAT(result.message, HasSubstr("http server, port 80, POST /generate: "));
}

TEST(HttpFaultsTest, ResetInTheMiddleKeepsWhatCame) {
  std::vector<std::string> events;
  const HttpResult result =
      AskStream(OneTwo([](MockScript* script) {
                  script->Send(MockChunk("data: thr")).Wait(milliseconds(30)).Reset();
                }),
                &events);
  EXPECT_EQ(result.error, HttpError::kReset);
  EXPECT_THAT(events, ElementsAre("one", "two"));
  EXPECT_EQ(result.num_events, 2);
  EXPECT_EQ(result.unfinished_bytes, 9u);
  EXPECT_THAT(result.message, HasSubstr("connection broke"));
  EXPECT_THAT(result.message, HasSubstr("(after 31 bytes, 2 events)"));
}

TEST(HttpFaultsTest, ResetBeforeAnyAnswer) {
  std::vector<std::string> events;
  EXPECT_EQ(AskStream(MockScript().Reset(), &events).error, HttpError::kReset);
  EXPECT_EQ(AskStream(MockScript(), &events).error, HttpError::kReset);
}

TEST(HttpFaultsTest, ResetAfterDoneIsNoFailure) {
  std::vector<std::string> events;
  const HttpResult result =
      AskStream(OneTwo([](MockScript* script) {
                  script->Send(MockEvent("[DONE]")).Wait(milliseconds(30)).Reset();
                }),
                &events);
  EXPECT_EQ(result.error, HttpError::kNone) << result.message;
  EXPECT_TRUE(result.done_marker);
  EXPECT_THAT(events, ElementsAre("one", "two"));
}

TEST(HttpFaultsTest, HalfABody) {
  const std::string reply = MockReply(200, R"({"text": "twenty bytes"})");
  MockServer server(
      [&](const MockRequest&) { return MockScript().Send(reply.substr(0, reply.size() - 10)); });
  const HttpResult result = Ask(server.url(), Post("/"));
  EXPECT_EQ(result.error, HttpError::kTruncated);
  EXPECT_EQ(result.body, R"({"text": "twen)");
  EXPECT_EQ(result.received_bytes, 14u);
}

TEST(HttpFaultsTest, ChunkedStreamWithoutItsEnd) {
  std::vector<std::string> events;
  const HttpResult result = AskStream(OneTwo([](MockScript*) {}), &events);
  EXPECT_EQ(result.error, HttpError::kTruncated);
  EXPECT_THAT(events, ElementsAre("one", "two"));
}

TEST(HttpFaultsTest, StallBeforeTheAnswer) {
  std::vector<std::string> events;
  const HttpResult result =
      AskStream(MockScript().Stall(), &events, {.first_byte_s = 0.1, .total_s = 5});
  EXPECT_EQ(result.error, HttpError::kFirstByteTimeout);
  EXPECT_THAT(result.message, HasSubstr("no answer within 0.1 s"));
  EXPECT_GE(result.times.ended - *result.times.sent, 0.1);
  EXPECT_LT(result.times.ended - *result.times.sent, 2.0);
}

TEST(HttpFaultsTest, StallInTheMiddle) {
  std::vector<std::string> events;
  const HttpResult result =
      AskStream(OneTwo([](MockScript* script) { script->Stall(); }), &events, {.idle_s = 0.1});
  EXPECT_EQ(result.error, HttpError::kIdleTimeout);
  EXPECT_THAT(events, ElementsAre("one", "two"));
  EXPECT_THAT(result.message, HasSubstr("the answer stopped for 0.1 s (after 22 bytes, 2 events)"));
}

TEST(HttpFaultsTest, SlowDripEndsAtTheTotalDeadlineOnly) {
  MockScript script;
  script.Send(MockStreamHead()).SendInPieces(MockChunk(kEvents), 1, 1, milliseconds(20));
  std::vector<std::string> events;
  HttpResult result = AskStream(script, &events, {.idle_s = 2.0, .total_s = 0.15});
  EXPECT_EQ(result.error, HttpError::kTotalTimeout);
  EXPECT_GE(result.times.ended - *result.times.sent, 0.15);
  script.Send(MockChunk(""));
  result = AskStream(script, &events, {.idle_s = 2.0, .total_s = 30});
  EXPECT_EQ(result.error, HttpError::kNone) << result.message;
  EXPECT_THAT(events, ElementsAre("one", "two"));
}

TEST(HttpFaultsTest, ServerThatDoesNotTakeTheRequest) {
  int port = 0;
  const int listener = ListenOnLoopback(&port);
  // More than the buffers of both sides hold.
  HttpRequest request = Post("/", BodyFormat::kWhole, std::string(size_t{64} << 20, 'x'));
  request.deadlines.open_s = 0.2;
  const HttpResult result = Ask("http://127.0.0.1:" + std::to_string(port), request);
  close(listener);
  EXPECT_EQ(result.error, HttpError::kOpenTimeout);
  EXPECT_THAT(result.message, HasSubstr("or the request not taken, within 0.2 s"));
  EXPECT_LT(result.times.ended, 2.0);
}

TEST(HttpFaultsTest, StatusesWithWhatTheyTell) {
  const std::map<int, std::string> bodies = {
      {429, R"({"error": "overloaded"})"}, {500, "oops"}, {503, ""}, {404, "{}"}, {401, ""}};
  MockServer server([&](const MockRequest& request) {
    const int status = std::stoi(request.target.substr(1));
    const std::vector<std::string> headers =
        status == 429 ? std::vector<std::string>{"Retry-After: 7"} : std::vector<std::string>{};
    return MockScript().Send(MockReply(status, bodies.at(status), headers));
  });
  for (const auto& [status, body] : bodies) {
    std::vector<std::string> events;
    const HttpResult result =
        Ask(server.url(), Post("/" + std::to_string(status), BodyFormat::kSse), &events);
    EXPECT_EQ(result.error, HttpError::kStatus);
    EXPECT_EQ(result.status, status);
    EXPECT_EQ(result.body, body);
    EXPECT_TRUE(events.empty());
    EXPECT_THAT(result.message, HasSubstr("status " + std::to_string(status)));
    EXPECT_EQ(result.retry_after_s.has_value(), status == 429);
    if (status == 429) {
      EXPECT_THAT(result.message, HasSubstr("status 429, retry after 7 s"));
    }
  }
}

TEST(HttpFaultsTest, RetryAfterThatIsADateIsLeftToTheCaller) {
  MockServer server([](const MockRequest&) {
    return MockScript().Send(MockReply(503, "", {"Retry-After: Wed, 21 Oct 2015 07:28:00 GMT"}));
  });
  const HttpResult result = Ask(server.url(), Post("/"));
  EXPECT_EQ(result.retry_after_s, std::nullopt);
  EXPECT_EQ(*result.FindHeader("retry-after"), "Wed, 21 Oct 2015 07:28:00 GMT");
}

TEST(HttpFaultsTest, RefusedOrDroppedWhileItIsHeld) {
  MockServer server(
      [](const MockRequest&) {
        // Long after the others have heard, on a busy machine too.
        return MockScript().Wait(milliseconds(1000)).Send(MockReply(200, "{}"));
      },
      [](const MockRequest& request) {
        if (request.target == "/drop") return MockScript().Reset();
        if (request.target == "/anchor") return MockScript();
        return MockScript().Send(MockReply(429, "busy", {"Retry-After: 1"}));
      });
  HttpClient client(ParseEndpoint(server.url()));
  const std::atomic<bool> stop = false;
  const HttpRequest held = After(Post("/busy", BodyFormat::kWhole, std::string(4096, 'x')), 2, 1);
  HttpRequest dropped = held;
  dropped.path = "/drop";
  const std::vector<HttpResult> results =
      client.RunTogether({held, dropped, Post("/anchor")}, {}, {}, stop);
  EXPECT_EQ(results[0].error, HttpError::kStatus) << results[0].message;
  EXPECT_EQ(results[0].status, 429);
  EXPECT_EQ(results[0].retry_after_s, 1.0);
  EXPECT_EQ(results[1].error, HttpError::kReset);
  EXPECT_THAT(results[1].message, HasSubstr("connection broke before the release"));
  EXPECT_EQ(results[2].error, HttpError::kNone) << results[2].message;
  for (const int i : {0, 1}) {
    EXPECT_FALSE(results[i].times.sent.has_value());
    EXPECT_LT(results[i].times.ended, results[2].times.ended) << i << " " << results[i].message;
  }
}

TEST(HttpFaultsTest, RedirectIsNotFollowedAndItsTargetShownWithoutSecrets) {
  MockServer server([](const MockRequest& request) {
    if (request.target == "/new") return MockScript().Send(MockReply(200, "{}"));
    return MockScript().Send(
        MockReply(307, "", {"Location: https://u:hunter2@elsewhere.example/new?token=hunter2"}));
  });
  const HttpResult result = Ask(server.url(), Post("/old"));
  EXPECT_EQ(result.error, HttpError::kRedirect);
  EXPECT_THAT(result.message,
              HasSubstr("status 307, redirected to https://elsewhere.example/new;"));
  EXPECT_THAT(result.message, Not(HasSubstr("hunter2")));
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(HttpFaultsTest, HugeBody) {
  MockServer server([](const MockRequest& request) {
    const std::string body(300'000, 'x');
    if (request.target == "/whole") return MockScript().Send(MockReply(200, body));
    return MockScript().Send(MockStreamHead() + MockChunk(kEvents) + MockChunk(body)).Stall();
  });
  HttpRequest request = Post("/whole");
  request.max_response_bytes = 100'000;
  HttpResult result = Ask(server.url(), request);
  EXPECT_EQ(result.error, HttpError::kTooLarge);
  EXPECT_EQ(result.body, std::string(100'000, 'x'));
  request = Post("/stream", BodyFormat::kSse);
  request.max_response_bytes = 100'000;
  std::vector<std::string> events;
  result = Ask(server.url(), request, &events);
  EXPECT_EQ(result.error, HttpError::kTooLarge);
  EXPECT_THAT(events, ElementsAre("one", "two"));
  EXPECT_EQ(result.received_bytes, 100'000u);
  request = Post("/whole");
  request.max_response_bytes = 300'000;
  EXPECT_EQ(Ask(server.url(), request).error, HttpError::kNone);
}

TEST(HttpFaultsTest, HugeHead) {
  MockServer server([](const MockRequest&) {
    const std::string line = "X-Filler: " + std::string(1000, 'x');
    return MockScript().Send(MockReply(200, "{}", std::vector<std::string>(400, line)));
  });
  const HttpResult result = Ask(server.url(), Post("/"));
  EXPECT_TRUE(result.Failed());
  EXPECT_EQ(result.error, HttpError::kTooLarge) << result.message;
}

TEST(HttpFaultsTest, WhatIsNotHttp) {
  MockServer server([](const MockRequest&) { return MockScript().Send("SSH-2.0-mock\r\n\r\n"); });
  EXPECT_EQ(Ask(server.url(), Post("/")).error, HttpError::kProtocol);
}

// What follows is for adapters to judge; nothing of it may be lost or changed on the way.

TEST(HttpFaultsTest, ErrorInsideAStreamOfStatus200) {
  std::vector<std::string> events;
  const HttpResult result = AskStream(
      OneTwo([](MockScript* script) {
        script->Send(MockEvent(R"({"error": {"message": "out of memory"}})")).Send(MockChunk(""));
      }),
      &events);
  EXPECT_EQ(result.error, HttpError::kNone);
  EXPECT_THAT(events, ElementsAre("one", "two", R"({"error": {"message": "out of memory"}})"));
}

TEST(HttpFaultsTest, FewerAnswersInAnotherOrderWithAWrongIndex) {
  const std::string body = R"([{"index": 2}, {"index": 0}, {"index": 9}])";
  MockServer server([&](const MockRequest&) {
    return MockScript().SendInPieces(MockReply(200, body), 3, 5, microseconds(200));
  });
  const HttpResult result = Ask(server.url(), Post("/"));
  ASSERT_EQ(result.error, HttpError::kNone);
  const ParsedJson parsed = ParseJson(result.body);
  ASSERT_EQ(parsed.root.items().size(), 3u);
  EXPECT_EQ(parsed.root.items()[0].Find("index")->Int64(), 2);
  EXPECT_EQ(parsed.root.items()[2].Find("index")->Int64(), 9);
}

TEST(HttpFaultsTest, InvalidJsonIsHandedOverAsItIs) {
  std::vector<std::string> events;
  const HttpResult result = AskStream(
      OneTwo([](MockScript* script) { script->Send(MockEvent("{\"a\": ")).Send(MockChunk("")); }),
      &events);
  EXPECT_EQ(result.error, HttpError::kNone);
  EXPECT_THAT(events, ElementsAre("one", "two", "{\"a\": "));
  EXPECT_FALSE(ParseJson(events[2]).ok());
}

TEST(HttpFaultsTest, InvalidUtf8IsKeptAndTold) {
  std::vector<std::string> events;
  HttpResult result = AskStream(
      OneTwo([](MockScript* script) { script->Send(MockEvent("\xFF\xC3")).Send(MockChunk("")); }),
      &events);
  EXPECT_EQ(result.error, HttpError::kNone);
  EXPECT_TRUE(result.invalid_utf8);
  EXPECT_THAT(events, ElementsAre("one", "two", "\xFF\xC3"));
  result = AskStream(MockScript().Send(MockReply(200, "{\"a\": \"\x80\"}")), &events);
  EXPECT_TRUE(result.invalid_utf8);
  EXPECT_EQ(result.body, "{\"a\": \"\x80\"}");
  // Cut within a character it is still whole.
  result = AskStream(
      OneTwo([](MockScript* script) {
        script->Send(MockChunk("data: \xC3")).Wait(milliseconds(5)).Send(MockChunk("\xA9\n\n"));
        script->Send(MockChunk(""));
      }),
      &events);
  EXPECT_FALSE(result.invalid_utf8);
  EXPECT_THAT(events, ElementsAre("one", "two", "é"));
}

TEST(HttpFaultsTest, OneFaultLeavesTheOthersAlone) {
  MockServer server([](const MockRequest& request) {
    if (request.target == "/reset") return OneTwo([](MockScript* script) { script->Reset(); });
    if (request.target == "/stall") return MockScript().Stall();
    if (request.target == "/503") return MockScript().Send(MockReply(503, ""));
    return OneTwo([](MockScript* script) { script->Wait(milliseconds(50)).Send(MockChunk("")); });
  });
  HttpClient client(ParseEndpoint(server.url()));
  const std::atomic<bool> stop = false;
  std::vector<HttpRequest> requests;
  for (int i = 0; i < 40; ++i) {
    const char* targets[] = {"/good", "/reset", "/stall", "/503"};
    requests.push_back(Post(targets[i % 4], BodyFormat::kSse));
    requests.back().deadlines.first_byte_s = i % 4 == 2 ? 0.1 : 5.0;
  }
  Heard heard(requests.size());
  const std::vector<HttpResult> results = client.RunTogether(requests, {}, heard.Callbacks(), stop);
  const HttpError wanted[] = {HttpError::kNone, HttpError::kReset, HttpError::kFirstByteTimeout,
                              HttpError::kStatus};
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].error, wanted[i % 4]) << i << ": " << results[i].message;
    if (i % 4 == 0) {
      EXPECT_THAT(heard.events[i], ElementsAre("one", "two"));
    }
  }
}

}  // namespace
}  // namespace detcheck
