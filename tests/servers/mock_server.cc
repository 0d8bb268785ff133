#include "tests/servers/mock_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <random>
#include <stdexcept>

namespace detcheck {
namespace {

using Clock = std::chrono::steady_clock;

std::string LowerCase(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

void ReadHeaders(std::string_view head, MockRequest* request) {
  const size_t first = head.find("\r\n");
  const std::string_view line = head.substr(0, first);
  const size_t blank = line.find(' ');
  request->method = line.substr(0, blank);
  request->target = line.substr(blank + 1, line.rfind(' ') - blank - 1);
  for (size_t at = first + 2; at < head.size();) {
    const size_t end = head.find("\r\n", at);
    const size_t colon = head.find(':', at);
    std::string name = LowerCase(std::string(head.substr(at, colon - at)));
    std::string_view value = head.substr(colon + 1, end - colon - 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    request->headers[std::move(name)] = value;
    at = end + 2;
  }
}

}  // namespace

MockScript& MockScript::Send(std::string bytes) {
  actions_.push_back({Action::Kind::kSend, std::move(bytes), {}});
  return *this;
}

MockScript& MockScript::Wait(std::chrono::microseconds time) {
  actions_.push_back({Action::Kind::kWait, "", time});
  return *this;
}

MockScript& MockScript::SendInPieces(std::string_view bytes, uint64_t seed, size_t max_piece,
                                     std::chrono::microseconds max_wait) {
  std::mt19937_64 random(seed);
  while (!bytes.empty()) {
    const size_t len = std::min<size_t>(bytes.size(), 1 + random() % max_piece);
    if (max_wait.count() > 0) Wait(std::chrono::microseconds(random() % (max_wait.count() + 1)));
    Send(std::string(bytes.substr(0, len)));
    bytes.remove_prefix(len);
  }
  return *this;
}

MockScript& MockScript::Reset() {
  actions_.push_back({Action::Kind::kReset, "", {}});
  return *this;
}

MockScript& MockScript::Stall() {
  actions_.push_back({Action::Kind::kStall, "", {}});
  return *this;
}

std::string MockReply(int status, std::string_view body, const std::vector<std::string>& headers,
                      std::string_view content_type) {
  std::string reply = "HTTP/1.1 " + std::to_string(status) + " Mock\r\n";
  reply += "Content-Type: " + std::string(content_type) + "\r\n";
  reply += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  for (const std::string& header : headers) reply += header + "\r\n";
  return reply + "\r\n" + std::string(body);
}

std::string MockStreamHead(std::string_view content_type) {
  return "HTTP/1.1 200 OK\r\nContent-Type: " + std::string(content_type) +
         "\r\nTransfer-Encoding: chunked\r\n\r\n";
}

std::string MockChunk(std::string_view bytes) {
  std::array<char, 20> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", bytes.size());
  return size.data() + std::string(bytes) + "\r\n";
}

std::string MockEvent(std::string_view data) {
  return MockChunk("data: " + std::string(data) + "\n\n");
}

struct MockServer::Connection {
  explicit Connection(int the_fd) : fd(the_fd) {}

  int fd;
  std::string input;
  size_t head_len = 0;  ///< With its blank line; 0: not yet whole.
  size_t body_len = 0;
  MockRequest request;
  bool has_script = false;
  MockScript script;
  size_t next = 0;  ///< Action.
  size_t sent = 0;  ///< Bytes of a kSend.
  TimePoint resume_at = {};
  bool writing = false;
};

MockServer::MockServer(Handler handler, EarlyHandler early)
    : handler_(std::move(handler)),
      early_(std::move(early)),
      listener_(ListenOnLoopback(&port_)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  for (const int fd : {listener_, wake_}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }
  thread_ = std::thread([this] { Serve(); });
}

MockServer::~MockServer() {
  eventfd_write(wake_, 1);
  thread_.join();
  for (const auto& [fd, connection] : connections_) close(fd);
  close(listener_);
  close(epoll_);
  close(wake_);
}

std::vector<MockRequest> MockServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

int MockServer::num_connections() const {
  const std::lock_guard lock(mutex_);
  return num_connections_;
}

int MockServer::num_hung_up() const {
  const std::lock_guard lock(mutex_);
  return num_hung_up_;
}

void MockServer::Serve() {
  std::array<epoll_event, 128> events{};
  while (true) {
    int timeout_ms = -1;
    if (!alarms_.empty()) {
      const auto left = alarms_.top().first - Clock::now();
      const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
      timeout_ms = static_cast<int>(std::max<int64_t>(0, ms));
    }
    const int num_events = epoll_wait(epoll_, events.data(), events.size(), timeout_ms);
    for (int i = 0; i < num_events; ++i) {
      const int fd = events[i].data.fd;
      if (fd == wake_) return;
      if (fd == listener_) {
        Accept();
        continue;
      }
      if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        if (const auto found = connections_.find(fd); found != connections_.end()) {
          Read(found->second.get());
        }
      }
      if (events[i].events & EPOLLOUT) {
        if (const auto found = connections_.find(fd); found != connections_.end()) {
          Act(found->second.get());
        }
      }
    }
    while (!alarms_.empty() && alarms_.top().first <= Clock::now()) {
      const int fd = alarms_.top().second;
      alarms_.pop();
      // A socket's number may have gone to another connection since: Act looks at its own time.
      if (const auto found = connections_.find(fd); found != connections_.end()) {
        Act(found->second.get());
      }
    }
  }
}

void MockServer::Accept() {
  while (true) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
    connections_[fd] = std::make_unique<Connection>(fd);
    const std::lock_guard lock(mutex_);
    ++num_connections_;
  }
}

void MockServer::Read(Connection* connection) {
  std::array<char, 65536> buffer;  // Not cleared: hundreds of connections read through it.
  while (true) {
    const ssize_t len = recv(connection->fd, buffer.data(), buffer.size(), 0);
    if (len > 0) {
      connection->input.append(buffer.data(), static_cast<size_t>(len));
      continue;
    }
    if (len < 0 && errno == EAGAIN) break;
    {
      const std::lock_guard lock(mutex_);
      ++num_hung_up_;
    }
    Close(connection->fd, false);
    return;
  }
  if (connection->has_script) return;
  if (connection->head_len == 0) ReadHead(connection);
  if (connection->head_len == 0) return;
  MockRequest& request = connection->request;
  const size_t have = connection->input.size() - connection->head_len;
  const TimePoint now = Clock::now();
  if (have + 1 >= connection->body_len && request.all_but_one_at == TimePoint()) {
    request.all_but_one_at = now;
  }
  if (have >= connection->body_len) {
    request.whole_at = now;
    request.body = connection->input.substr(connection->head_len, connection->body_len);
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    connection->script = handler_(request);
  } else if (early_) {
    connection->script = early_(request);
    if (connection->script.actions().empty()) return;
  } else {
    return;
  }
  connection->has_script = true;
  Act(connection);
}

void MockServer::ReadHead(Connection* connection) {
  const size_t end = connection->input.find("\r\n\r\n");
  if (end == std::string::npos) return;
  connection->head_len = end + 4;
  MockRequest& request = connection->request;
  ReadHeaders(std::string_view(connection->input).substr(0, end + 2), &request);
  request.head_at = Clock::now();
  const auto length = request.headers.find("content-length");
  connection->body_len = length == request.headers.end() ? 0 : std::stoul(length->second);
}

void MockServer::Act(Connection* connection) {
  const std::vector<MockScript::Action>& actions = connection->script.actions();
  if (!connection->has_script || Clock::now() < connection->resume_at) return;
  for (; connection->next < actions.size(); ++connection->next) {
    const MockScript::Action& action = actions[connection->next];
    switch (action.kind) {
      case MockScript::Action::Kind::kSend:
        if (!SendSome(connection)) return;
        break;
      case MockScript::Action::Kind::kWait:
        if (action.wait.count() == 0) break;
        connection->resume_at = Clock::now() + action.wait;
        alarms_.emplace(connection->resume_at, connection->fd);
        ++connection->next;
        return;
      case MockScript::Action::Kind::kReset:
        Close(connection->fd, true);
        return;
      case MockScript::Action::Kind::kStall:
        return;
    }
  }
  Close(connection->fd, false);
}

/// True: the action's bytes are all sent.
bool MockServer::SendSome(Connection* connection) {
  const std::string& bytes = connection->script.actions()[connection->next].bytes;
  while (connection->sent < bytes.size()) {
    const ssize_t len = send(connection->fd, bytes.data() + connection->sent,
                             bytes.size() - connection->sent, MSG_NOSIGNAL);
    if (len < 0) {
      // A broken connection is noticed by Read.
      Watch(connection, errno == EAGAIN);
      return false;
    }
    connection->sent += static_cast<size_t>(len);
  }
  connection->sent = 0;
  Watch(connection, false);
  return true;
}

void MockServer::Watch(Connection* connection, bool writing) {
  if (connection->writing == writing) return;
  connection->writing = writing;
  epoll_event event{};
  event.events = EPOLLIN;
  if (writing) event.events |= EPOLLOUT;
  event.data.fd = connection->fd;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, connection->fd, &event);
}

void MockServer::Close(int fd, bool reset) {
  if (reset) {
    const linger at_once{1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  }
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  connections_.erase(fd);
  close(fd);
}

namespace {

/// A socket bound to a port of 127.0.0.1 that the system chooses.
int BindOnLoopback(int* port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t len = sizeof(address);
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  if (fd < 0 || bind(fd, raw, len) != 0 || getsockname(fd, raw, &len) != 0) {
    throw std::runtime_error("mock server: no socket");
  }
  *port = ntohs(address.sin_port);
  return fd;
}

}  // namespace

int ListenOnLoopback(int* port) {
  const int fd = BindOnLoopback(port);
  if (listen(fd, 1024) != 0) throw std::runtime_error("mock server: no socket to listen on");
  return fd;
}

RefusingPort::RefusingPort() : socket_(BindOnLoopback(&port_)) {}

RefusingPort::~RefusingPort() {
  close(socket_);
}

}  // namespace detcheck
