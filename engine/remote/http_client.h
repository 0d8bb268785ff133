#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "engine/remote/endpoint.h"
#include "engine/remote/http.h"

namespace detcheck {

class CurlTransfers;

/// What the caller makes of a stream's event.
struct StreamProgress {
  int tokens = 0;      ///< Tokens this request has answered so far. Releases count these.
  bool close = false;  ///< Close the connection now: this request ends in HttpError::kClosed.
};

/// A request that is repeated while others run, to look at the server's counters: from the release
/// on, in intervals, and whenever the last of those that were released and have not ended has made
/// its first token of progress.
struct HttpPoll {
  HttpRequest request;       ///< Its release is ignored.
  double interval_s = 0.02;  ///< From one answer to the next request.
};

/// Called from the thread that called RunTogether. An exception ends every request and is passed on
/// to the caller of RunTogether: throw only for what is a bug.
struct HttpCallbacks {
  /// Event of request `request`, in the order in which it came. May be empty.
  std::function<StreamProgress(int request, const StreamEvent& event)> on_event;
  /// Poll `poll` was answered, or failed. May be empty.
  std::function<void(int poll, const HttpResult& result)> on_poll;
};

/// HTTP/1.1 to one server, by libcurl, in the calling thread. Every request has its own connection,
/// which is closed at its end; polls keep theirs. Redirects are not followed. Not thread-safe.
class HttpClient {
 public:
  /// Throws Error(kInput) where the CA file cannot be read, Error(kInternal) where libcurl does not
  /// start.
  explicit HttpClient(Endpoint endpoint);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  const Endpoint& endpoint() const { return endpoint_; }

  /// Runs all requests to their end and gives their results in order; a request that fails changes
  /// nothing for the others.
  ///
  /// Release. First every request that has a body is opened: connected (TLS too) and written up to
  /// the body's last byte, which is held back. When all are open or have failed, those that are
  /// released kAtOnce are let go in one go: their last bytes are handed to the kernel one after the
  /// other, in order. So no server can begin one of them before all of them are written, but for
  /// their last bytes; how far apart the bytes arrive is up to the network. A request without a
  /// body is opened at its release. kAfterTokens releases a request as soon as request `item` has
  /// made so many tokens of progress, or has ended. Throws Error(kInternal) for releases that
  /// cannot happen (a ring, an item that is not there, kAtEngineStep).
  ///
  /// `stop` turning true ends what runs with kInterrupted, within 50 ms.
  std::vector<HttpResult> RunTogether(const std::vector<HttpRequest>& requests,
                                      const std::vector<HttpPoll>& polls,
                                      const HttpCallbacks& callbacks,
                                      const std::atomic<bool>& stop);

  /// One request, whole.
  HttpResult Run(const HttpRequest& request, const std::atomic<bool>& stop);

 private:
  Endpoint endpoint_;
  std::unique_ptr<CurlTransfers> transfers_;
};

}  // namespace detcheck
