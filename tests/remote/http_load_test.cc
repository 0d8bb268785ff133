#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <string>

#include "engine/remote/json_node.h"
#include "tests/remote/client_testing.h"
#include "tests/servers/mock_server.h"

namespace detcheck {
namespace {

using std::chrono::microseconds;

constexpr int kRequests = 512;
constexpr int kTokens = 128;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMeasured = false;  // Sanitizers cost time and memory of their own.
#else
constexpr bool kMeasured = true;
#endif

double ThreadCpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Forgets the peak so far: other tests of this process may have been larger.
void ResetPeak() {
  std::ofstream("/proc/self/clear_refs") << 5;
}

/// Most memory that this process has had since then.
double PeakMegabytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024.0;
  }
  return 0.0;
}

int64_t TokenOf(int64_t request, int64_t position) {
  return request * 1000 + position;
}

/// As a server sends a token with five candidates, about 400 bytes.
std::string Event(int64_t request, int64_t position) {
  const std::string token = std::to_string(TokenOf(request, position));
  std::string data = R"({"id":"r)" + std::to_string(request) +
                     R"(","choices":[{"index":0,"text":" )" + token + R"(","token_ids":[)" + token +
                     R"(],"logprobs":{"token_logprobs":[)" + "-0.69314718246459961" +
                     R"(],"top_logprobs":[{)";
  for (int i = 0; i < 5; ++i) {
    data += (i == 0 ? "" : ",") + (R"("token_id:)" + std::to_string(TokenOf(request, i))) +
            R"(":-1.2345678806304932)";
  }
  return data + R"(}],"tokens":["token_id:)" + token + R"("]},"finish_reason":null}]})";
}

/// Every eighth stream comes in pieces of up to 300 bytes, cut anywhere.
MockScript Answer(const MockRequest& request) {
  const int64_t number = std::stoll(request.body);
  MockScript script;
  script.Send(MockStreamHead());
  for (int64_t position = 0; position < kTokens; ++position) {
    const std::string event = MockEvent(Event(number, position));
    script.Wait(microseconds(2000 + (number * 7919 + position * 104729) % 4000));
    if (number % 8 == 0) {
      script.SendInPieces(event, static_cast<uint64_t>(number * kTokens + position), 300,
                          microseconds(200));
    } else {
      script.Send(event);
    }
  }
  return script.Send(MockEvent("[DONE]") + MockChunk(""));
}

/// The mock server in a process of its own, so that its memory does not count.
class ServerProcess {
 public:
  ServerProcess() {
    int port_pipe[2];
    int life_pipe[2];
    if (pipe(port_pipe) != 0 || pipe(life_pipe) != 0) throw std::runtime_error("no pipe");
    pid_ = fork();
    if (pid_ == 0) {
      close(life_pipe[1]);
      const MockServer server(Answer);
      const int port = server.port();
      char nothing = 0;
      const bool told = write(port_pipe[1], &port, sizeof(port)) == sizeof(port);
      if (told) static_cast<void>(read(life_pipe[0], &nothing, 1) == 0);  // Until the test ends.
      _exit(0);
    }
    close(port_pipe[1]);
    close(life_pipe[0]);
    life_ = life_pipe[1];
    if (read(port_pipe[0], &port_, sizeof(port_)) != sizeof(port_)) {
      throw std::runtime_error("the mock server does not start");
    }
    close(port_pipe[0]);
  }
  ~ServerProcess() {
    close(life_);
    waitpid(pid_, nullptr, 0);
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  pid_t pid_ = 0;
  int port_ = 0;
  int life_ = -1;
};

TEST(HttpLoadTest, StreamsAtOnceWithoutLossWithinTimeAndMemory) {
  const ServerProcess server;
  HttpClient client(ParseEndpoint(server.url()));
  const std::atomic<bool> stop = false;
  std::vector<HttpRequest> requests;
  for (int i = 0; i < kRequests; ++i) {
    requests.push_back(Post("/v1/completions", BodyFormat::kSse, std::to_string(i)));
    requests.back().deadlines = {.open_s = 30, .first_byte_s = 60, .idle_s = 60, .total_s = 300};
  }
  std::vector<std::vector<int64_t>> tokens(kRequests);
  HttpCallbacks callbacks;
  callbacks.on_event = [&](int request, const StreamEvent& event) {
    const ParsedJson parsed = ParseJson(event.data);
    EXPECT_TRUE(parsed.ok()) << parsed.error;
    EXPECT_EQ(parsed.root.Find("id")->String(), "r" + std::to_string(request));
    const JsonNode& choice = parsed.root.Find("choices")->items().at(0);
    tokens[request].push_back(*choice.Find("token_ids")->items().at(0).Int64());
    return StreamProgress{.tokens = static_cast<int>(tokens[request].size()), .close = false};
  };
  ResetPeak();
  const double begin = ThreadCpuSeconds();
  const std::vector<HttpResult> results = client.RunTogether(requests, {}, callbacks, stop);
  const double cpu_s = ThreadCpuSeconds() - begin;

  double last_sent = 0.0;
  double first_end = 1e9;
  double wall_s = 0.0;
  for (int i = 0; i < kRequests; ++i) {
    ASSERT_EQ(results[i].error, HttpError::kNone) << results[i].message;
    EXPECT_TRUE(results[i].done_marker);
    ASSERT_EQ(tokens[i].size(), static_cast<size_t>(kTokens)) << i;
    for (int k = 0; k < kTokens; ++k) ASSERT_EQ(tokens[i][k], TokenOf(i, k));
    last_sent = std::max(last_sent, *results[i].times.sent);
    first_end = std::min(first_end, results[i].times.ended);
    wall_s = std::max(wall_s, results[i].times.ended);
  }
  EXPECT_LT(last_sent, first_end) << "they did not run together";
  std::printf(
      "%d streams of %d tokens: client CPU %.3f s (JSON included), wall %.2f s, peak memory "
      "of the process %.1f MB\n",
      kRequests, kTokens, cpu_s, wall_s, PeakMegabytes());
  if (!kMeasured) return;
  EXPECT_LE(cpu_s, 1.5);
  EXPECT_LE(PeakMegabytes(), 200.0);
}

}  // namespace
}  // namespace detcheck
