#include "engine/remote/http.h"

namespace detcheck {

std::string_view HttpErrorName(HttpError error) {
  switch (error) {
    case HttpError::kNone:
      return "none";
    case HttpError::kResolve:
      return "resolve";
    case HttpError::kRefused:
      return "refused";
    case HttpError::kConnect:
      return "connect";
    case HttpError::kTls:
      return "tls";
    case HttpError::kOpenTimeout:
      return "open_timeout";
    case HttpError::kFirstByteTimeout:
      return "first_byte_timeout";
    case HttpError::kIdleTimeout:
      return "idle_timeout";
    case HttpError::kTotalTimeout:
      return "total_timeout";
    case HttpError::kReset:
      return "reset";
    case HttpError::kTruncated:
      return "truncated";
    case HttpError::kTooLarge:
      return "too_large";
    case HttpError::kRedirect:
      return "redirect";
    case HttpError::kStatus:
      return "status";
    case HttpError::kProtocol:
      return "protocol";
    case HttpError::kClosed:
      return "closed";
    case HttpError::kInterrupted:
      return "interrupted";
  }
  return "unknown";
}

const std::string* HttpResult::FindHeader(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return &value;
  }
  return nullptr;
}

}  // namespace detcheck
