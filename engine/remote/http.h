#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/request.h"

namespace detcheck {

// Requests to a server and what came of them.

/// How the body of an answer is read.
enum class BodyFormat {
  kWhole,   ///< Kept in HttpResult::body.
  kSse,     ///< Server-sent events. A body that calls itself application/json is kept whole.
  kNdjson,  ///< One event a line.
};

/// Seconds after which waiting is an error; infinity: never.
struct Deadlines {
  double open_s = 10.0;         ///< From the start until connected and written up to the last byte.
  double first_byte_s = 600.0;  ///< From the release to the answer's first byte.
  double idle_s = 120.0;        ///< Between two bytes of the answer.
  double total_s = 3600.0;      ///< From the release to the answer's end.
};

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method = "POST";
  std::string path;     ///< "/generate", with its query; below the endpoint's base path.
  HttpHeaders headers;  ///< Beside Content-Type: application/json (with a body) and the key.
  std::string body;
  BodyFormat format = BodyFormat::kWhole;
  Deadlines deadlines;
  /// Of the answer's body. Beyond it the request ends in kTooLarge; what came until then is kept.
  size_t max_response_bytes = size_t{64} << 20;
  /// kAtOnce: together with the others. kAfterTokens: see HttpClient::RunTogether. `item` is an
  /// index among the requests.
  Release release;
};

/// Why a request did not end as it should.
enum class HttpError {
  kNone,
  kResolve,           ///< The host's name is not known.
  kRefused,           ///< Nobody listens there.
  kConnect,           ///< No connection for another reason.
  kTls,               ///< The certificate was not accepted, or no TLS.
  kOpenTimeout,       ///< Deadlines::open_s.
  kFirstByteTimeout,  ///< Deadlines::first_byte_s.
  kIdleTimeout,       ///< Deadlines::idle_s.
  kTotalTimeout,      ///< Deadlines::total_s.
  kReset,             ///< The connection broke, or was closed before any byte of an answer.
  kTruncated,         ///< The connection was closed before the answer's end.
  kTooLarge,          ///< More than max_response_bytes, or than any header may have.
  kRedirect,          ///< Status 3xx. Never followed.
  kStatus,            ///< Any other status that is not 2xx. HttpResult::body is what it said.
  kProtocol,          ///< Not HTTP.
  kClosed,       ///< Closed in the middle because StreamProgress::close said so. Not a failure.
  kInterrupted,  ///< The stop flag.
};

/// "refused", "first_byte_timeout", …
std::string_view HttpErrorName(HttpError error);

/// Seconds since RunTogether began, on the steady clock; absent: it did not come to that.
struct HttpTimes {
  std::optional<double> opened;      ///< Connected and written up to the body's last byte.
  std::optional<double> sent;        ///< The last byte was handed to the kernel (TLS: to TLS).
  std::optional<double> first_byte;  ///< Of the answer, its status line included.
  std::optional<double> first_event;
  std::optional<double> last_byte;
  double ended = 0.0;
};

struct HttpResult {
  HttpError error = HttpError::kNone;
  std::string message;  ///< One line; empty exactly where error is kNone or kClosed.
  int status = 0;       ///< 0: no answer began.
  HttpHeaders headers;  ///< Of the answer; names in lower case.
  std::optional<double> retry_after_s;  ///< Retry-After given in seconds.
  std::string body;             ///< kWhole, and any answer that is not 2xx. Bytes as they came.
  size_t received_bytes = 0;    ///< Of the answer's body.
  int num_events = 0;           ///< Handed to on_event.
  bool done_marker = false;     ///< The stream said [DONE].
  size_t unfinished_bytes = 0;  ///< At the stream's end, of an event that did not end.
  bool invalid_utf8 = false;    ///< In `body` or in an event. The bytes are kept.
  HttpTimes times;

  bool Failed() const { return error != HttpError::kNone && error != HttpError::kClosed; }
  /// The value of a header, by its name in lower case, or null.
  const std::string* FindHeader(std::string_view name) const;
};

/// One event of a stream. A view: valid during the call.
struct StreamEvent {
  std::string_view data;  ///< SSE: its data lines, joined by '\n'. NDJSON: the line.
  std::string_view name;  ///< SSE: the event field; else empty.
  int index = 0;          ///< Of this stream, 0-based.
  bool valid_utf8 = true;
  double time_s = 0.0;  ///< When its last byte was read; as HttpTimes.
};

}  // namespace detcheck
