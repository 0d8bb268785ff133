#include "engine/remote/curl_transfers.h"

#include <curl/curl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <system_error>

#include "engine/base/error.h"

namespace detcheck {
namespace {

using Clock = std::chrono::steady_clock;

/// Sockets that one call of Drive handles: few, so that a release that hangs on what came in is not
/// kept waiting by the sockets behind it.
constexpr int kMaxSocketsPerDrive = 32;
/// libcurl's default is 64 KiB; hundreds of transfers shall stay small.
constexpr long kUploadBufferBytes = 16 * 1024;
constexpr double kLongestConnectMs = 1e9;

void StartCurlOnce() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) throw Error(ErrorCode::kInternal, "libcurl does not start");
}

template <typename Value>
void Set(CURL* easy, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(easy, option, value);
  if (code != CURLE_OK) {
    throw Error(ErrorCode::kInternal,
                std::string("libcurl refuses an option: ") + curl_easy_strerror(code));
  }
}

void Replace(std::string_view what, std::string_view with, std::string* text) {
  if (what.empty()) return;
  for (size_t at = text->find(what); at != std::string::npos;
       at = text->find(what, at + with.size())) {
    text->replace(at, what.size(), with);
  }
}

HttpError ErrorOf(CURLcode code, long os_errno) {
  switch (code) {
    case CURLE_OK:
      return HttpError::kNone;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return HttpError::kResolve;
    case CURLE_COULDNT_CONNECT:
      return os_errno == ECONNREFUSED ? HttpError::kRefused : HttpError::kConnect;
    case CURLE_OPERATION_TIMEDOUT:
      return HttpError::kOpenTimeout;  // The one time limit left to libcurl is that on connecting.
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
      return HttpError::kTls;
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
      return HttpError::kReset;
    case CURLE_PARTIAL_FILE:
      return HttpError::kTruncated;
    default:
      return HttpError::kProtocol;
  }
}

}  // namespace

/// One easy handle and what its callbacks need.
struct CurlTransfers::Transfer {
  Transfer(const HttpRequest& the_request, bool is_held, TransferObserver* the_observer)
      : request(&the_request), held(is_held), observer(the_observer), easy(curl_easy_init()) {
    if (easy == nullptr) throw Error(ErrorCode::kInternal, "libcurl gives no handle");
  }
  ~Transfer() {
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  void AddHeader(const std::string& line) {
    curl_slist* longer = curl_slist_append(headers, line.c_str());
    if (longer == nullptr) throw Error(ErrorCode::kInternal, "libcurl is out of memory");
    headers = longer;
  }

  static size_t Read(char* buffer, size_t size, size_t count, void* self) {
    return static_cast<Transfer*>(self)->Fill(buffer, size * count);
  }
  static size_t Header(char* line, size_t size, size_t count, void* self) {
    auto* transfer = static_cast<Transfer*>(self);
    return transfer->observer->OnHeader({line, size * count}) ? size * count : 0;
  }
  static size_t Write(char* bytes, size_t size, size_t count, void* self) {
    auto* transfer = static_cast<Transfer*>(self);
    return transfer->observer->OnBody({bytes, size * count}) ? size * count : 0;
  }

  /// libcurl asks for more of the body when all that it had was taken by the kernel.
  size_t Fill(char* buffer, size_t room) {
    const std::string& body = request->body;
    const size_t left = body.size() - num_read;
    if (left == 1 && !opened) {
      opened = true;
      observer->OnOpened();
    }
    if (left == 1 && held) return CURL_READFUNC_PAUSE;
    const size_t len = left == 1 ? 1 : std::min(room, left - 1);
    std::memcpy(buffer, body.data() + num_read, len);
    num_read += len;
    if (left == 1) observer->OnSent();
    return len;
  }

  const HttpRequest* request;
  bool held;
  bool opened = false;
  size_t num_read = 0;  ///< Bytes of the body that libcurl has.
  TransferObserver* observer;
  CURL* easy;
  curl_slist* headers = nullptr;
  std::array<char, CURL_ERROR_SIZE> error_text{};
};

/// The multi handle, its sockets in an epoll set, and its timer.
struct CurlTransfers::Multi {
  Multi() : curl(curl_multi_init()), epoll(epoll_create1(EPOLL_CLOEXEC)) {
    if (curl == nullptr || epoll < 0) {
      throw Error(ErrorCode::kInternal, "no room for another set of connections");
    }
    curl_multi_setopt(curl, CURLMOPT_SOCKETFUNCTION, &Multi::OnSocket);
    curl_multi_setopt(curl, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(curl, CURLMOPT_TIMERFUNCTION, &Multi::OnTimer);
    curl_multi_setopt(curl, CURLMOPT_TIMERDATA, this);
  }
  ~Multi() {
    curl_multi_cleanup(curl);
    close(epoll);
  }
  Multi(const Multi&) = delete;
  Multi& operator=(const Multi&) = delete;

  static int OnSocket(CURL*, curl_socket_t socket, int what, void* self, void*) {
    const int epoll = static_cast<Multi*>(self)->epoll;
    if (what == CURL_POLL_REMOVE) {
      epoll_ctl(epoll, EPOLL_CTL_DEL, socket, nullptr);
      return 0;
    }
    epoll_event event{};
    event.data.fd = socket;
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    if (epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) == 0) return 0;
    return epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) == 0 ? 0 : -1;
  }
  static int OnTimer(CURLM*, long timeout_ms, void* self) {
    auto* multi = static_cast<Multi*>(self);
    multi->timer.reset();
    if (timeout_ms >= 0) multi->timer = Clock::now() + std::chrono::milliseconds(timeout_ms);
    return 0;
  }

  void Act(curl_socket_t socket, int what) {
    int num_running = 0;
    curl_multi_socket_action(curl, socket, what, &num_running);
  }

  CURLM* curl;
  int epoll;
  std::optional<Clock::time_point> timer;
};

CurlTransfers::CurlTransfers(Endpoint endpoint) : endpoint_(std::move(endpoint)) {
  StartCurlOnce();
  multi_ = std::make_unique<Multi>();
}

CurlTransfers::~CurlTransfers() {
  while (!transfers_.empty()) Cancel(transfers_.begin()->first);
}

void CurlTransfers::Start(const HttpRequest& request, Connection connection, bool hold,
                          TransferObserver* observer) {
  auto transfer = std::make_unique<Transfer>(request, hold, observer);
  Configure(transfer.get(), connection);
  ConfigureTls(transfer.get());
  if (curl_multi_add_handle(multi_->curl, transfer->easy) != CURLM_OK) {
    throw Error(ErrorCode::kInternal, "libcurl refuses a transfer");
  }
  if (request.body.empty()) observer->OnSent();
  transfers_[observer] = std::move(transfer);
}

void CurlTransfers::Configure(Transfer* transfer, Connection connection) {
  CURL* easy = transfer->easy;
  const HttpRequest& request = *transfer->request;
  Set(easy, CURLOPT_PRIVATE, transfer);
  Set(easy, CURLOPT_ERRORBUFFER, transfer->error_text.data());
  Set(easy, CURLOPT_URL, endpoint_.Url(request.path).c_str());
  Set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  Set(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  Set(easy, CURLOPT_NOSIGNAL, 1L);
  Set(easy, CURLOPT_QUICK_EXIT, 1L);     // Cancel does not wait for the resolver.
  Set(easy, CURLOPT_TCP_KEEPALIVE, 1L);  // A held request may be silent for long.
  const double open_ms = std::ceil(request.deadlines.open_s * 1e3);
  Set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::min(open_ms, kLongestConnectMs)));
  Set(easy, CURLOPT_FOLLOWLOCATION, 0L);
  Set(easy, CURLOPT_USERAGENT, "detcheck");
  if (!endpoint_.proxy_from_environment) Set(easy, CURLOPT_PROXY, "");
  if (connection == Connection::kOwn) {
    Set(easy, CURLOPT_FRESH_CONNECT, 1L);
    Set(easy, CURLOPT_FORBID_REUSE, 1L);
    transfer->AddHeader("Connection: close");
  }
  if (request.body.empty()) {
    Set(easy, CURLOPT_HTTPGET, 1L);
  } else {
    Set(easy, CURLOPT_POST, 1L);
    Set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    Set(easy, CURLOPT_UPLOAD_BUFFERSIZE, kUploadBufferBytes);
    Set(easy, CURLOPT_READFUNCTION, &Transfer::Read);
    Set(easy, CURLOPT_READDATA, transfer);
    transfer->AddHeader("Content-Type: application/json");
    transfer->AddHeader("Expect:");  // The body is sent without asking first.
  }
  Set(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (!endpoint_.bearer_key.empty()) {
    transfer->AddHeader("Authorization: Bearer " + endpoint_.bearer_key);
  }
  for (const auto& [name, value] : request.headers) {
    std::string line = name;
    line += ": ";
    line += value;
    transfer->AddHeader(line);
  }
  Set(easy, CURLOPT_HTTPHEADER, transfer->headers);
  Set(easy, CURLOPT_HEADERFUNCTION, &Transfer::Header);
  Set(easy, CURLOPT_HEADERDATA, transfer);
  Set(easy, CURLOPT_WRITEFUNCTION, &Transfer::Write);
  Set(easy, CURLOPT_WRITEDATA, transfer);
}

void CurlTransfers::ConfigureTls(Transfer* transfer) {
  const TlsOptions& tls = endpoint_.tls;
  Set(transfer->easy, CURLOPT_SSL_VERIFYPEER, tls.insecure ? 0L : 1L);
  Set(transfer->easy, CURLOPT_SSL_VERIFYHOST, tls.insecure ? 0L : 2L);
  if (tls.ca_cert_file.empty()) return;
  Set(transfer->easy, CURLOPT_CAINFO, tls.ca_cert_file.c_str());
  Set<const char*>(transfer->easy, CURLOPT_CAPATH, nullptr);
}

void CurlTransfers::LetGo(TransferObserver* observer) {
  Transfer* transfer = transfers_.at(observer).get();
  transfer->held = false;
  curl_easy_pause(transfer->easy, CURLPAUSE_CONT);
}

void CurlTransfers::Cancel(TransferObserver* observer) {
  const auto found = transfers_.find(observer);
  if (found == transfers_.end()) return;
  curl_multi_remove_handle(multi_->curl, found->second->easy);
  transfers_.erase(found);
}

void CurlTransfers::Drive(double timeout_s) {
  if (multi_->timer) {
    const std::chrono::duration<double> left = *multi_->timer - Clock::now();
    timeout_s = std::min(timeout_s, left.count());
  }
  std::array<epoll_event, kMaxSocketsPerDrive> events{};
  const int timeout_ms = static_cast<int>(std::ceil(std::max(0.0, timeout_s) * 1e3));
  const int num_events = epoll_wait(multi_->epoll, events.data(), kMaxSocketsPerDrive, timeout_ms);
  if (multi_->timer && *multi_->timer <= Clock::now()) {
    multi_->timer.reset();
    multi_->Act(CURL_SOCKET_TIMEOUT, 0);
  }
  for (int i = 0; i < num_events; ++i) {
    int what = 0;
    if (events[i].events & (EPOLLIN | EPOLLHUP)) what |= CURL_CSELECT_IN;
    if (events[i].events & EPOLLOUT) what |= CURL_CSELECT_OUT;
    if (events[i].events & EPOLLERR) what |= CURL_CSELECT_ERR;
    multi_->Act(events[i].data.fd, what);
  }
  ReportEnded();
}

void CurlTransfers::ReportEnded() {
  int num_left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_->curl, &num_left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* easy = message->easy_handle;
    const CURLcode code = message->data.result;
    char* self = nullptr;
    long os_errno = 0;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &self);
    curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &os_errno);
    auto* transfer = reinterpret_cast<Transfer*>(self);
    TransferObserver* observer = transfer->observer;
    std::string detail;
    if (code == CURLE_COULDNT_CONNECT && os_errno != 0) {
      detail = std::generic_category().message(static_cast<int>(os_errno));
    } else if (code != CURLE_OK) {
      detail = transfer->error_text[0] ? transfer->error_text.data() : curl_easy_strerror(code);
    }
    Replace(endpoint_.host, "(server)", &detail);
    Replace(endpoint_.tls.ca_cert_file, "(CA file)", &detail);
    curl_multi_remove_handle(multi_->curl, easy);
    transfers_.erase(observer);
    observer->OnEnd(ErrorOf(code, os_errno), detail);
  }
}

std::string CurlVersion() {
  return curl_version_info(CURLVERSION_NOW)->version;
}

}  // namespace detcheck
