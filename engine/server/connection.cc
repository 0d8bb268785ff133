#include "engine/server/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace detcheck {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// How soon a connection that waits for its client notices that the server stops.
constexpr milliseconds kLookAtStop{50};
/// A client that still sends is listened to for so long, so that it can read the answer.
constexpr milliseconds kMostLinger{1000};

}  // namespace

Connection::Connection(socket_t socket, ConnectionTimeouts timeouts, const std::atomic<bool>& stop)
    : socket_(socket), timeouts_(timeouts), stop_(stop) {
  const int on = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

Connection::~Connection() {
  ::shutdown(socket_, SHUT_WR);
  const auto end = steady_clock::now() + kMostLinger;
  while (steady_clock::now() < end && WaitFor(POLLIN, kLookAtStop)) {
    if (::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT) <= 0) break;
  }
  ::close(socket_);
}

bool Connection::WaitForRequest() {
  return (begin_ < end_ || WaitForInput(timeouts_.idle)) && !Gone();
}

bool Connection::Gone() const {
  if (begin_ < end_) return false;
  char byte = 0;
  const ssize_t got = ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

bool Connection::is_readable() const {
  return begin_ < end_ || WaitForInput(timeouts_.transfer);
}

bool Connection::is_writable() const {
  return WaitFor(POLLOUT, timeouts_.transfer);
}

ssize_t Connection::read(char* ptr, size_t size) {
  if (begin_ == end_) {
    if (!is_readable()) return -1;
    ssize_t got = 0;
    do {
      got = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
    } while (got < 0 && errno == EINTR);
    if (got <= 0) return got;
    begin_ = 0;
    end_ = static_cast<size_t>(got);
  }
  const size_t num_bytes = std::min(size, end_ - begin_);
  std::memcpy(ptr, buffer_.data() + begin_, num_bytes);
  begin_ += num_bytes;
  return static_cast<ssize_t>(num_bytes);
}

ssize_t Connection::write(const char* ptr, size_t size) {
  if (!is_writable()) return -1;
  ssize_t sent = 0;
  do {
    sent = ::send(socket_, ptr, size, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();  // Nothing asks for it, and nothing may log it.
  port = 0;
}

void Connection::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

bool Connection::WaitForInput(milliseconds timeout) const {
  const auto end = steady_clock::now() + timeout;
  while (!WaitFor(POLLIN, kLookAtStop)) {
    if (stop_ || steady_clock::now() >= end) return false;
  }
  return true;
}

bool Connection::WaitFor(short events, milliseconds timeout) const {
  pollfd wanted{.fd = socket_, .events = events, .revents = 0};
  return ::poll(&wanted, 1, static_cast<int>(timeout.count())) > 0;
}

}  // namespace detcheck
