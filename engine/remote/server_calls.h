#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "engine/remote/http_client.h"
#include "engine/remote/json_node.h"

namespace detcheck {

/// What a server answered to a short question.
struct Reply {
  int status = 0;       ///< 0: there was no answer.
  std::string body;     ///< As it came.
  JsonNode root;        ///< Of a body that is JSON; else null.
  std::string error;    ///< Empty exactly where the status is 2xx.
  double took_s = 0.0;  ///< From the start of the call to the answer's end.

  bool Ok() const { return error.empty(); }
  /// 404, 405 or 501: the server has no such end point, or not in this configuration.
  bool Missing() const { return status == 404 || status == 405 || status == 501; }
};

/// Short questions to a server, one at a time, each with a deadline of 30 s. Where no answer comes
/// at all (nobody listens, TLS, deadline) Error(kTarget) is thrown, and where a GET is refused for
/// its key: what is changed by a POST may need another one.
class ServerCalls {
 public:
  /// Both must outlive it.
  ServerCalls(HttpClient* client, const std::atomic<bool>& stop) : client_(client), stop_(stop) {}

  Reply Get(std::string_view path) { return Call("GET", path, ""); }
  Reply Post(std::string_view path, std::string body) {
    return Call("POST", path, std::move(body));
  }
  const Endpoint& endpoint() const { return client_->endpoint(); }

 private:
  Reply Call(const char* method, std::string_view path, std::string body);

  HttpClient* client_;
  const std::atomic<bool>& stop_;
};

}  // namespace detcheck
