#pragma once

// The one door to libcurl. Internal to engine/remote, but for the version.

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/remote/endpoint.h"
#include "engine/remote/http.h"

namespace detcheck {

/// Hears what becomes of one transfer, inside CurlTransfers::Drive. Must neither throw nor call the
/// CurlTransfers.
class TransferObserver {
 public:
  virtual ~TransferObserver() = default;

  /// Connected, and everything but the body's last byte was handed to the kernel (or to TLS):
  /// libcurl asks for more of a body when it has written what it had. From libcurl 8.7 on it may
  /// ask while a server that reads slowly has left it some of that.
  virtual void OnOpened() = 0;
  /// The last byte is being handed to the kernel (without a body: the request was let go).
  virtual void OnSent() = 0;
  /// A line of the answer's head, its line end included. False ends the transfer.
  virtual bool OnHeader(std::string_view line) = 0;
  /// Bytes of the answer's body. False ends the transfer.
  virtual bool OnBody(std::string_view bytes) = 0;
  /// The last call: kNone where the answer is complete. Not called after Cancel. `detail` is
  /// libcurl's word for the error, without the server's name.
  virtual void OnEnd(HttpError error, const std::string& detail) = 0;
};

/// Transfers to one server over libcurl's multi interface with epoll, all in the calling thread.
class CurlTransfers {
 public:
  enum class Connection {
    kOwn,     ///< Opened for this transfer and closed with it.
    kPooled,  ///< May be one that an earlier pooled transfer left open.
  };

  /// Throws Error(kInternal) where libcurl or epoll does not start.
  explicit CurlTransfers(Endpoint endpoint);
  ~CurlTransfers();
  CurlTransfers(const CurlTransfers&) = delete;
  CurlTransfers& operator=(const CurlTransfers&) = delete;

  /// Starts a transfer. With `hold`, which needs a body, its last byte is not given to libcurl
  /// before LetGo, whatever libcurl's version. `request`
  /// and `observer` must live until OnEnd or Cancel.
  void Start(const HttpRequest& request, Connection connection, bool hold,
             TransferObserver* observer);

  /// Lets the last byte of a held transfer go, in the next Drive. Transfers that are let go between
  /// two calls of Drive are written in the order of these calls, without anything between them.
  void LetGo(TransferObserver* observer);

  /// Ends a transfer at once and closes its connection; nothing where it has ended.
  void Cancel(TransferObserver* observer);

  /// Waits until something happens, at most `timeout_s`, and handles a few sockets.
  void Drive(double timeout_s);

 private:
  struct Transfer;
  struct Multi;

  void Configure(Transfer* transfer, Connection connection);
  void ConfigureTls(Transfer* transfer);
  void ReportEnded();

  Endpoint endpoint_;
  std::unique_ptr<Multi> multi_;
  std::unordered_map<TransferObserver*, std::unique_ptr<Transfer>> transfers_;
};

/// Version of libcurl in use: "7.88.1".
std::string CurlVersion();

}  // namespace detcheck
