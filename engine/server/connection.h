#pragma once

#include <httplib.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string>

#include "engine/server/http_types.h"

namespace detcheck {

/// How long a connection may be silent.
struct ConnectionTimeouts {
  std::chrono::milliseconds idle{5000};       ///< Between requests, as uvicorn has it.
  std::chrono::milliseconds transfer{60000};  ///< Within a request or an answer.
};

/// An accepted connection, which it owns. Small pieces are sent at once (TCP_NODELAY), and it can
/// be asked whether the client has gone while nothing is read or written. Used by one thread.
class Connection : public httplib::Stream, public HttpPeer {
 public:
  /// Once `stop`, which must outlive it, is true, it waits for nothing more from the client.
  Connection(socket_t socket, ConnectionTimeouts timeouts, const std::atomic<bool>& stop);
  /// Lets the client read what was sent to it, and closes.
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Waits for the first byte of the next request. False: the client closed, was silent for too
  /// long, or a stop came first.
  bool WaitForRequest();

  bool Gone() const override;

  bool is_readable() const override;
  bool is_writable() const override;
  ssize_t read(char* ptr, size_t size) override;
  ssize_t write(const char* ptr, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_; }

 private:
  bool WaitFor(short events, std::chrono::milliseconds timeout) const;
  /// Waits for bytes to read, until `timeout` or a stop.
  bool WaitForInput(std::chrono::milliseconds timeout) const;

  socket_t socket_;
  ConnectionTimeouts timeouts_;
  const std::atomic<bool>& stop_;
  std::array<char, 16384> buffer_;  ///< What was received and not read yet:
  size_t begin_ = 0;                ///< from here
  size_t end_ = 0;                  ///< to here.
};

}  // namespace detcheck
