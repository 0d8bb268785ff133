#include "engine/server/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <string>

namespace detcheck {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// A connection of a client that writes its requests itself.
class RawClient {
 public:
  explicit RawClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      throw std::runtime_error("no connection");
    }
    const timeval patience{.tv_sec = 30, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  }
  ~RawClient() { ::close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void Send(const std::string& text) const {
    ASSERT_EQ(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }

  /// All that comes until the server closes, or, where it is given, until `end` has come.
  std::string Receive(const std::string& end = "") const {
    std::string text;
    std::array<char, 4096> buffer{};
    while (end.empty() || !text.ends_with(end)) {
      const ssize_t got = ::recv(socket_, buffer.data(), buffer.size(), 0);
      if (got <= 0) break;
      text.append(buffer.data(), static_cast<size_t>(got));
    }
    return text;
  }

 private:
  int socket_;
};

HttpReply Answer(const ServedRequest& request, const HttpPeer& /*peer*/) {
  HttpReply reply;
  reply.body = request.method + request.path + request.body + "!";
  if (request.path == "/throws") {
    reply.stream = [](const StreamWriter& write) {
      write("begun");
      throw std::runtime_error("not foreseen");
    };
  }
  return reply;
}

std::string Post(const std::string& type, const std::string& body) {
  return "POST /p HTTP/1.1\r\nHost: x\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

TEST(HttpServerTest, RequestsOfOneConnectionFollowEachOther) {
  HttpServer server({}, Answer);
  const RawClient client(server.port());
  client.Send(Post("application/json", "{}") + "GET /g HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.Receive("GET/g!"), HasSubstr("POST/p{}!"));
}

TEST(HttpServerTest, TheBodyOfAGetIsNotTakenForTheNextRequest) {
  HttpServer server({}, Answer);
  for (const char* body :
       {"Content-Length: 2\r\n\r\n{}", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"}) {
    const RawClient client(server.port());
    client.Send(std::string("GET /g HTTP/1.1\r\nHost: x\r\n") + body);
    const std::string answer = client.Receive();  // The server closes.
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(answer, HasSubstr("Connection: close"));
    EXPECT_THAT(answer, EndsWith("GET/g!"));
  }
}

TEST(HttpServerTest, APostWithoutALengthHasNoBody) {
  HttpServer server({}, Answer);  // As curl -X POST sends it.
  const RawClient client(server.port());
  client.Send("POST /p HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.Receive("POST/p!"), StartsWith("HTTP/1.1 200"));
  client.Send("GET /g HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.Receive("GET/g!"), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServerTest, ALengthBeyondTheMostIsRefusedBeforeTheBodyIsRead) {
  HttpServer server({.most_body_bytes = 9}, Answer);
  for (const char* length : {"10", "-5", "99999999999999999999999"}) {
    const RawClient client(server.port());
    client.Send(std::string("POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: ") + length +
                "\r\n\r\n");
    EXPECT_THAT(client.Receive(), StartsWith("HTTP/1.1 413")) << length;
  }
  const RawClient client(server.port());
  client.Send(Post("application/json", "123456789"));
  EXPECT_THAT(client.Receive("POST/p123456789!"), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServerTest, FormsAreRefused) {
  HttpServer server({}, Answer);
  const RawClient client(server.port());
  client.Send(Post("multipart/form-data; boundary=b",
                   "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b--\r\n"));
  const std::string answer = client.Receive();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 415"));
  EXPECT_THAT(answer, HasSubstr("the body is of a type that is not taken"));
}

TEST(HttpServerTest, AnExceptionWithinAStreamEndsThatAnswerAlone) {
  HttpServer server({}, Answer);
  const RawClient client(server.port());
  client.Send("GET /throws HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string answer = client.Receive();
  EXPECT_THAT(answer, HasSubstr("begun"));
  EXPECT_THAT(answer, Not(EndsWith("0\r\n\r\n")));  // Not as if it were whole.
  const RawClient other(server.port());
  other.Send("GET /g HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(other.Receive("GET/g!"), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServerTest, AStopDoesNotWaitForTheRestOfARequest) {
  HttpServer server({}, Answer);
  const RawClient head(server.port());
  head.Send("POST /p HTTP/1.1\r\nHost:");
  const RawClient body(server.port());
  body.Send("POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n123");
  const RawClient whole(server.port());
  whole.Send("GET /g HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(whole.Receive("GET/g!"), StartsWith("HTTP/1.1 200"));  // They are all served.
  const auto begin = std::chrono::steady_clock::now();
  server.Stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

}  // namespace
}  // namespace detcheck
