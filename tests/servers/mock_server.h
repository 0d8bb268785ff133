#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace detcheck {

/// A request as the mock server read it. Times are of the steady clock.
struct MockRequest {
  using TimePoint = std::chrono::steady_clock::time_point;

  std::string method;
  std::string target;                          ///< Path and query.
  std::map<std::string, std::string> headers;  ///< Names in lower case.
  std::string body;
  TimePoint head_at;         ///< The head was whole.
  TimePoint all_but_one_at;  ///< So was the body, but for its last byte at most.
  TimePoint whole_at;        ///< The body was whole.
};

/// What the server does with one connection after a request: bytes, pauses, and how it ends. Where
/// nothing else is said the connection is closed in an orderly way after the last action.
class MockScript {
 public:
  struct Action {
    enum class Kind { kSend, kWait, kReset, kStall };
    Kind kind;
    std::string bytes;
    std::chrono::microseconds wait{0};
  };

  MockScript& Send(std::string bytes);
  MockScript& Wait(std::chrono::microseconds time);
  /// Sends `bytes` cut into pieces of 1 to `max_piece` bytes, drawn from `seed`, each after a wait
  /// of up to `max_wait`.
  MockScript& SendInPieces(std::string_view bytes, uint64_t seed, size_t max_piece,
                           std::chrono::microseconds max_wait);
  /// The connection is reset (RST), in the middle of whatever there is.
  MockScript& Reset();
  /// Nothing more is sent; the connection stays open.
  MockScript& Stall();

  const std::vector<Action>& actions() const { return actions_; }

 private:
  std::vector<Action> actions_;
};

/// "HTTP/1.1 503 …" with Content-Length, `headers` being whole lines without line ends.
std::string MockReply(int status, std::string_view body,
                      const std::vector<std::string>& headers = {},
                      std::string_view content_type = "application/json");
/// Head of a chunked answer with status 200.
std::string MockStreamHead(std::string_view content_type = "text/event-stream");
/// One chunk; the empty text ends the answer.
std::string MockChunk(std::string_view bytes);
/// "data: …\n\n" as one chunk.
std::string MockEvent(std::string_view data);

/// An HTTP/1.1 server on 127.0.0.1 in one thread of its own, for hundreds of connections, each of
/// which carries one request.
class MockServer {
 public:
  /// Called in the server's thread for each request, once it is whole.
  using Handler = std::function<MockScript(const MockRequest& request)>;
  /// Called where the head is whole but the body is not; an answer with actions is sent at once.
  using EarlyHandler = std::function<MockScript(const MockRequest& request)>;

  explicit MockServer(Handler handler, EarlyHandler early = {});
  ~MockServer();
  MockServer(const MockServer&) = delete;
  MockServer& operator=(const MockServer&) = delete;

  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  /// The requests so far, in the order in which they became whole.
  std::vector<MockRequest> requests() const;
  int num_connections() const;
  /// Connections that the client closed before their script had ended.
  int num_hung_up() const;

 private:
  struct Connection;
  using TimePoint = MockRequest::TimePoint;

  void Serve();
  void Accept();
  void Read(Connection* connection);
  void ReadHead(Connection* connection);
  void Act(Connection* connection);
  bool SendSome(Connection* connection);
  void Close(int fd, bool reset);
  void Watch(Connection* connection, bool writing);

  Handler handler_;
  EarlyHandler early_;
  int port_ = 0;
  int listener_ = -1;
  int epoll_ = -1;
  int wake_ = -1;  ///< An eventfd; readable once the server is to end.
  std::map<int, std::unique_ptr<Connection>> connections_;
  using Alarm = std::pair<TimePoint, int>;  ///< When, and whose socket.
  std::priority_queue<Alarm, std::vector<Alarm>, std::greater<>> alarms_;

  mutable std::mutex mutex_;  ///< Guards what follows.
  std::vector<MockRequest> requests_;
  int num_connections_ = 0;
  int num_hung_up_ = 0;

  std::thread thread_;
};

/// A socket that listens on 127.0.0.1, on `*port`. As long as nobody accepts, its clients are
/// connected and written to by the kernel alone.
int ListenOnLoopback(int* port);

/// A port of 127.0.0.1 on which nobody listens, nor can while this is there.
class RefusingPort {
 public:
  RefusingPort();
  ~RefusingPort();
  RefusingPort(const RefusingPort&) = delete;
  RefusingPort& operator=(const RefusingPort&) = delete;

  int port() const { return port_; }

 private:
  int port_ = 0;
  int socket_ = -1;
};

}  // namespace detcheck
