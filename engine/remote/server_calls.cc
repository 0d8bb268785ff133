#include "engine/remote/server_calls.h"

#include "engine/base/error.h"
#include "engine/remote/server_error.h"

namespace detcheck {
namespace {

constexpr double kLongestCall_s = 30.0;
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;

}  // namespace

Reply ServerCalls::Call(const char* method, std::string_view path, std::string body) {
  HttpRequest request;
  request.method = method;
  request.path = path;
  request.body = std::move(body);
  request.deadlines.first_byte_s = kLongestCall_s;
  request.deadlines.idle_s = kLongestCall_s;
  request.deadlines.total_s = kLongestCall_s;
  const HttpResult result = client_->Run(request, stop_);
  if (result.error == HttpError::kInterrupted) throw Error(ErrorCode::kInterrupted, "interrupted");
  const bool answered = result.error == HttpError::kNone || result.error == HttpError::kStatus;
  const bool refused =
      request.method == "GET" && (result.status == kUnauthorized || result.status == kForbidden);
  if (!answered || refused) {
    throw Error(ErrorCode::kTarget, WhyFailed(result, endpoint().bearer_key));
  }
  Reply reply;
  reply.status = result.status;
  reply.body = result.body;
  reply.took_s = result.times.ended;
  ParsedJson parsed = ParseJson(result.body);
  if (parsed.ok()) reply.root = std::move(parsed.root);
  if (result.Failed()) reply.error = WhyFailed(result, endpoint().bearer_key);
  return reply;
}

}  // namespace detcheck
