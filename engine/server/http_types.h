#pragma once

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace detcheck {

/// A request that came in (HttpRequest, of engine/remote, is one that goes out).
struct ServedRequest {
  std::string method;  ///< "GET", "POST", ...
  std::string path;    ///< Without the query.
  std::map<std::string, std::string> query;
  std::string body;
};

/// The client at the other end of a request, as the thread that serves it sees it.
class HttpPeer {
 public:
  virtual ~HttpPeer() = default;
  /// Whether it has closed the connection: its answer is not wanted any more.
  virtual bool Gone() const = 0;
};

/// Sends a piece of a stream at once. False: the client is gone.
using StreamWriter = std::function<bool(std::string_view data)>;

struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  /// Where not empty, it is called in place of a body, once, and writes all of it.
  std::function<void(const StreamWriter& write)> stream;
};

/// A request that is answered with an error. what() is for the client.
class ApiError : public std::runtime_error {
 public:
  ApiError(int status, const std::string& message) : std::runtime_error(message), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

}  // namespace detcheck
