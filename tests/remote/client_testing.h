#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "engine/remote/http_client.h"

namespace detcheck {

/// A POST with deadlines of a test.
inline HttpRequest Post(std::string path, BodyFormat format = BodyFormat::kWhole,
                        std::string body = R"({"input_ids": [1, 2, 3]})") {
  HttpRequest request;
  request.path = std::move(path);
  request.format = format;
  request.body = std::move(body);
  request.deadlines = {.open_s = 5.0, .first_byte_s = 10.0, .idle_s = 10.0, .total_s = 60.0};
  return request;
}

inline HttpRequest Get(std::string path) {
  HttpRequest request = Post(std::move(path), BodyFormat::kWhole, "");
  request.method = "GET";
  return request;
}

/// `request`, released once `item` has made `count` tokens of progress.
inline HttpRequest After(HttpRequest request, int item, int count) {
  request.release = {.kind = Release::Kind::kAfterTokens, .item = item, .count = count};
  return request;
}

/// The events of each request, each counted as one token.
struct Heard {
  explicit Heard(size_t num_requests) : events(num_requests) {}

  HttpCallbacks Callbacks() {
    HttpCallbacks callbacks;
    callbacks.on_event = [this](int request, const StreamEvent& event) {
      events[request].emplace_back(event.data);
      return StreamProgress{.tokens = static_cast<int>(events[request].size()), .close = false};
    };
    return callbacks;
  }

  std::vector<std::vector<std::string>> events;
};

/// One request to `url` by a client of its own, its events in `*events`.
inline HttpResult Ask(const std::string& url, const HttpRequest& request,
                      std::vector<std::string>* events = nullptr) {
  HttpClient client(ParseEndpoint(url));
  const std::atomic<bool> stop = false;
  Heard heard(1);
  HttpResult result = client.RunTogether({request}, {}, heard.Callbacks(), stop).front();
  if (events != nullptr) *events = heard.events[0];
  return result;
}

}  // namespace detcheck
