#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "engine/server/http_types.h"

namespace detcheck {

/// Answers one request; a stream in its reply is written before the next request of the connection.
using HttpHandler = std::function<HttpReply(const ServedRequest& request, const HttpPeer& peer)>;

struct HttpServerOptions {
  std::string host = "127.0.0.1";
  int port = 0;  ///< 0: any free one.
  size_t most_body_bytes = size_t{64} << 20;
  int most_connections = 1024;  ///< Served at once; others wait.
};

/// HTTP/1.1 on one port: the door to cpp-httplib. What the library's defaults lack is set or done
/// here: a thread for each connection, no limit of requests on one, no shared port, a long backlog,
/// a limit for bodies without a length, Connection in place of its stream.
class HttpServer {
 public:
  /// Listens and answers from then on. Throws Error(kTarget) where the port cannot be had.
  /// `handler` is called by many threads at once.
  HttpServer(const HttpServerOptions& options, HttpHandler handler);
  /// Stop.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;

  /// Takes no further connection or request, and returns when those that run have been answered.
  void Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace detcheck
