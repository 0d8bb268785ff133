#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "tests/remote/client_testing.h"
#include "tests/servers/mock_server.h"

namespace detcheck {
namespace {

using std::chrono::microseconds;

constexpr int kStreams = 300;

enum class Fault { kNone, kReset, kClose, kStall };

/// How a server breaks one stream off, drawn from its number.
struct Cut {
  Fault fault;
  std::vector<std::string> events;  ///< Those that end before the cut.
  bool done = false;                ///< "[DONE]" does, too.
  std::string sent;                 ///< The body up to the cut.
  std::string whole;
};

Cut DrawCut(int seed) {
  std::mt19937_64 random(static_cast<uint64_t>(seed));
  Cut cut;
  std::vector<size_t> ends;
  std::vector<std::string> events;
  const int num_events = 1 + static_cast<int>(random() % 40);
  for (int i = 0; i < num_events; ++i) {
    if (random() % 4 == 0) cut.whole += ": ping\n\n";
    const std::string line_end = random() % 2 == 0 ? "\r\n" : "\n";
    events.push_back("{\"token\": " + std::to_string(random() % 100000) + "}");
    cut.whole += "data: ";
    cut.whole += events.back();
    for (int k = 0; k < 2; ++k) cut.whole += line_end;
    ends.push_back(cut.whole.size());
  }
  cut.whole += "data: [DONE]\n\n";
  cut.fault = static_cast<Fault>(random() % 4);
  const size_t len = cut.fault == Fault::kNone ? cut.whole.size() : random() % cut.whole.size();
  cut.sent = cut.whole.substr(0, len);
  cut.done = len == cut.whole.size();
  for (int i = 0; i < num_events; ++i) {
    // The CR of the blank line ends it; its LF may be missing.
    const bool carriage_return = cut.whole[ends[i] - 2] == '\r';
    if (ends[i] - (carriage_return ? 1 : 0) <= len) cut.events.push_back(events[i]);
  }
  return cut;
}

MockScript Answer(const MockRequest& request) {
  const int seed = std::stoi(request.body);
  const Cut cut = DrawCut(seed);
  const std::string reply = MockReply(200, cut.whole, {}, "text/event-stream");
  const std::string head = reply.substr(0, reply.size() - cut.whole.size());
  MockScript script;
  script.SendInPieces(head + cut.sent, static_cast<uint64_t>(seed), 200, microseconds(500));
  if (cut.fault == Fault::kReset) script.Reset();
  if (cut.fault == Fault::kStall) script.Stall();
  return script;
}

TEST(HttpCutTest, EveryEventBeforeTheFaultIsHandedOver) {
  MockServer server(Answer);
  HttpClient client(ParseEndpoint(server.url()));
  const std::atomic<bool> stop = false;
  std::vector<HttpRequest> requests;
  for (int i = 0; i < kStreams; ++i) {
    requests.push_back(Post("/", BodyFormat::kSse, std::to_string(i)));
    requests.back().deadlines.idle_s = 2.0;
  }
  Heard heard(kStreams);
  const std::vector<HttpResult> results = client.RunTogether(requests, {}, heard.Callbacks(), stop);
  for (int i = 0; i < kStreams; ++i) {
    const Cut cut = DrawCut(i);
    const HttpError wanted[] = {HttpError::kNone, HttpError::kReset, HttpError::kTruncated,
                                HttpError::kIdleTimeout};
    EXPECT_EQ(results[i].error, wanted[static_cast<int>(cut.fault)])
        << i << ": " << results[i].message;
    EXPECT_EQ(heard.events[i], cut.events) << i;
    EXPECT_EQ(results[i].received_bytes, cut.sent.size()) << i;
    EXPECT_EQ(results[i].done_marker, cut.done) << i;
  }
}

}  // namespace
}  // namespace detcheck
