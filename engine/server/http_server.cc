#include "engine/server/http_server.h"

#include <httplib.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <thread>
#include <utility>

#include "engine/base/error.h"
#include "engine/server/connection.h"
#include "engine/server/connection_threads.h"

namespace detcheck {
namespace {

/// Connections that the system keeps until they are accepted; the library asks for 5.
constexpr int kBacklog = 1024;

/// The connection that this thread serves.
thread_local Connection* current_connection = nullptr;

}  // namespace

class HttpServer::Impl : public httplib::Server {
 public:
  Impl(const HttpServerOptions& options, HttpHandler handler)
      : options_(options), handler_(std::move(handler)) {
    new_task_queue = [this] { return new ConnectionThreads(options_.most_connections); };
    set_socket_options([this](socket_t socket) {
      // Not SO_REUSEPORT, which the library sets: two servers would share a port unseen.
      const int on = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
      listening_socket_ = socket;
    });
    set_keep_alive_max_count(std::numeric_limits<int>::max());  // Said to clients; not counted.
    set_payload_max_length(options_.most_body_bytes);
    AddHandlers();
    Listen();
  }

  ~Impl() override { StopServing(); }

  int port() const { return port_; }

  void StopServing() {
    stopping_ = true;
    if (!thread_.joinable()) return;
    stop();
    thread_.join();
  }

 private:
  void AddHandlers() {
    const char* any = ".*";
    const auto without_body = [this](const httplib::Request& request, httplib::Response& response) {
      // Of a GET the library reads no body, though it may have one.
      if (request.body.empty() && HasBody(request)) CloseAfter(&response);
      Handle(request, "", &response);
    };
    const auto with_body = [this](const httplib::Request& request, httplib::Response& response,
                                  const httplib::ContentReader& read) {
      ReadAndHandle(request, read, &response);
    };
    Get(any, without_body);
    Options(any, without_body);
    Delete(any, without_body);
    Post(any, with_body);
    Put(any, with_body);
    Patch(any, with_body);
    set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (!response.body.empty()) return;
      const char* message = response.status == 413   ? "the body is too large"
                            : response.status == 414 ? "the path is too long"
                            : response.status == 415 ? "the body is of a type that is not taken"
                                                     : "the request is not HTTP as it should be";
      response.set_content("{\"error\":{\"message\":\"" + std::string(message) +
                               "\",\"code\":" + std::to_string(response.status) + "}}",
                           "application/json");
    });
  }

  void Listen() {
    errno = 0;
    port_ = options_.port == 0                           ? bind_to_any_port(options_.host)
            : bind_to_port(options_.host, options_.port) ? options_.port
                                                         : -1;
    if (port_ <= 0) {
      const std::string why = errno == 0 ? "no such address here" : std::strerror(errno);
      throw Error(ErrorCode::kTarget, "cannot listen on " + options_.host + " port " +
                                          std::to_string(options_.port) + ": " + why);
    }
    ::listen(listening_socket_, kBacklog);
    thread_ = std::thread([this] { listen_after_bind(); });
    while (!is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  /// The library's own gives a connection five requests, and its stream says nothing of a client
  /// that went while an answer is being made.
  bool process_and_close_socket(socket_t socket) override {
    Connection connection(socket, {}, stopping_);
    current_connection = &connection;
    bool closed = false;
    while (!closed && connection.WaitForRequest()) {
      if (!process_request(connection, /*close_connection=*/stopping_, closed, nullptr)) break;
      if (close_after_answer_) break;
    }
    close_after_answer_ = false;
    current_connection = nullptr;
    return true;
  }

  void ReadAndHandle(const httplib::Request& request, const httplib::ContentReader& read,
                     httplib::Response* response) {
    // Which the library would take apart.
    if (request.is_multipart_form_data()) return Refuse(415, response);
    // Without a length there is none; the library would read until the client closes.
    if (!HasBody(request)) return Handle(request, "", response);
    // Which the library would read to its end first.
    if (BodyLen(request) > options_.most_body_bytes) return Refuse(413, response);
    std::string body;
    bool too_large = false;
    // Bodies in chunks have no length that the library could look at.
    const bool whole = read([&](const char* data, size_t size) {
      too_large = body.size() + size > options_.most_body_bytes;
      if (!too_large) body.append(data, size);
      return !too_large;
    });
    if (whole) {
      Handle(request, std::move(body), response);
      return;
    }
    Refuse(too_large ? 413 : std::max(response->status, 400), response);
  }

  static void Refuse(int status, httplib::Response* response) {
    response->status = status;
    CloseAfter(response);
  }

  /// As the client tells it; 0 where it does not.
  static uint64_t BodyLen(const httplib::Request& request) {
    return request.get_header_value<uint64_t>("Content-Length");
  }

  static bool HasBody(const httplib::Request& request) {
    return request.has_header("Transfer-Encoding") || BodyLen(request) > 0;
  }

  /// For a request of which not all was read: what follows is not the next one.
  static void CloseAfter(httplib::Response* response) {
    close_after_answer_ = true;
    response->set_header("Connection", "close");
  }

  void Handle(const httplib::Request& request, std::string body, httplib::Response* response) {
    ServedRequest http{
        .method = request.method, .path = request.path, .query = {}, .body = std::move(body)};
    for (const auto& [name, value] : request.params) http.query.emplace(name, value);
    HttpReply reply = handler_(http, *current_connection);
    response->status = reply.status;
    if (!reply.stream) {
      response->set_content(reply.body, reply.content_type.c_str());
      return;
    }
    response->set_chunked_content_provider(
        reply.content_type.c_str(),
        [stream = std::move(reply.stream)](size_t /*offset*/, httplib::DataSink& sink) {
          bool there = true;
          try {
            stream([&](std::string_view data) {
              there = there && sink.write(data.data(), data.size());
              return there;
            });
          } catch (const std::exception&) {
            return false;  // The library lets it end the process; an answer without its end tells.
          }
          if (there) sink.done();
          return there;
        });
  }

  const HttpServerOptions options_;
  const HttpHandler handler_;
  socket_t listening_socket_ = INVALID_SOCKET;
  int port_ = -1;
  std::atomic<bool> stopping_ = false;
  static thread_local bool close_after_answer_;
  std::thread thread_;
};

thread_local bool HttpServer::Impl::close_after_answer_ = false;

HttpServer::HttpServer(const HttpServerOptions& options, HttpHandler handler)
    : impl_(std::make_unique<Impl>(options, std::move(handler))) {}

HttpServer::~HttpServer() = default;

int HttpServer::port() const {
  return impl_->port();
}

void HttpServer::Stop() {
  impl_->StopServing();
}

}  // namespace detcheck
