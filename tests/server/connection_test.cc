#include "engine/server/connection.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

namespace detcheck {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Both ends of a TCP connection on this machine.
struct TcpPair {
  TcpPair() {
    const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t len = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    client = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::bind(listening, any, len) != 0 || ::listen(listening, 1) != 0 ||
        ::getsockname(listening, any, &len) != 0 || ::connect(client, any, len) != 0) {
      throw std::runtime_error("no TCP on this machine");
    }
    server = ::accept(listening, nullptr, nullptr);
    ::close(listening);
  }
  ~TcpPair() {
    if (client >= 0) ::close(client);
  }

  int client = -1;
  int server = -1;  ///< The connection's to close.
};

const std::atomic<bool> never = false;
constexpr ConnectionTimeouts kShort{.idle = milliseconds(150), .transfer = milliseconds(150)};

TEST(ConnectionTest, SmallPiecesAreSentAtOnce) {
  TcpPair pair;
  const Connection connection(pair.server, {}, never);
  int on = 0;
  socklen_t len = sizeof(on);
  ASSERT_EQ(::getsockopt(pair.server, IPPROTO_TCP, TCP_NODELAY, &on, &len), 0);
  EXPECT_NE(on, 0);
}

TEST(ConnectionTest, TellsThatTheClientHasGone) {
  TcpPair pair;
  const Connection connection(pair.server, {}, never);
  EXPECT_FALSE(connection.Gone());
  ASSERT_EQ(::send(pair.client, "x", 1, 0), 1);
  EXPECT_FALSE(connection.Gone());
  char byte = 0;
  while (::recv(pair.server, &byte, 1, MSG_DONTWAIT) < 0) {
  }
  ::close(pair.client);
  pair.client = -1;
  const auto end = steady_clock::now() + std::chrono::seconds(5);
  while (!connection.Gone() && steady_clock::now() < end) std::this_thread::yield();
  EXPECT_TRUE(connection.Gone());
}

TEST(ConnectionTest, AClientWithAnotherRequestWaitingIsThere) {
  TcpPair pair;
  Connection connection(pair.server, {}, never);
  ASSERT_EQ(::send(pair.client, "ab", 2, 0), 2);
  char byte = 0;
  ASSERT_EQ(connection.read(&byte, 1), 1);  // The other one is in the buffer.
  ::shutdown(pair.client, SHUT_WR);
  EXPECT_FALSE(connection.Gone());
  ASSERT_EQ(connection.read(&byte, 1), 1);
  EXPECT_EQ(byte, 'b');
  EXPECT_EQ(connection.read(&byte, 1), 0);
}

TEST(ConnectionTest, WaitsForARequestUntilItComesOrTimeIsUp) {
  TcpPair pair;
  Connection connection(pair.server, kShort, never);
  EXPECT_FALSE(connection.WaitForRequest());  // Silent for too long.
  ASSERT_EQ(::send(pair.client, "GET", 3, 0), 3);
  EXPECT_TRUE(connection.WaitForRequest());
}

TEST(ConnectionTest, AStopEndsTheWaitForARequestAndForTheRestOfOne) {
  TcpPair pair;
  std::atomic<bool> stop = false;
  constexpr ConnectionTimeouts kLong{.idle = std::chrono::minutes(5),
                                     .transfer = std::chrono::minutes(5)};
  Connection connection(pair.server, kLong, stop);
  ASSERT_EQ(::send(pair.client, "P", 1, 0), 1);
  char byte = 0;
  ASSERT_EQ(connection.read(&byte, 1), 1);
  std::thread stopper([&stop] { stop = true; });
  EXPECT_EQ(connection.read(&byte, 1), -1);
  EXPECT_FALSE(connection.WaitForRequest());
  stopper.join();
  ASSERT_EQ(::send(pair.client, "O", 1, 0), 1);  // What has come is still read.
  EXPECT_EQ(connection.read(&byte, 1), 1);
}

TEST(ConnectionTest, SilenceWithinATransferIsAnError) {
  TcpPair pair;
  Connection connection(pair.server, kShort, never);
  char byte = 0;
  EXPECT_EQ(connection.read(&byte, 1), -1);
}

}  // namespace
}  // namespace detcheck
