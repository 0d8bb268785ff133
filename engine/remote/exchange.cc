#include "engine/remote/exchange.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "engine/base/utf8.h"

namespace detcheck {
namespace {

constexpr size_t kMaxHeaderBytes = size_t{256} << 10;
constexpr double kNever = std::numeric_limits<double>::infinity();

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

/// The status of "HTTP/1.1 200 OK", or 0.
int ReadStatus(std::string_view line) {
  const size_t blank = line.find(' ');
  if (blank == std::string_view::npos) return 0;
  int status = 0;
  std::from_chars(line.data() + blank + 1, line.data() + line.size(), status);
  return status;
}

/// Seconds written as a number; a date is left to the caller.
std::optional<double> ReadRetryAfter(const std::string* value) {
  if (value == nullptr) return std::nullopt;
  double seconds = 0.0;
  const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), seconds);
  const bool whole = error == std::errc() && end == value->data() + value->size();
  if (!whole || !std::isfinite(seconds) || seconds < 0.0) return std::nullopt;
  return seconds;
}

std::string Seconds(double seconds) {
  const std::string text = std::to_string(seconds);
  const size_t last = text.find_last_not_of('0');
  return text.substr(0, text[last] == '.' ? last : last + 1) + " s";
}

}  // namespace

void Exchange::Touch() {
  if (touched_) return;
  touched_ = true;
  touched_list_->push_back(this);
}

void Exchange::MarkOpening() {
  state_ = State::kOpening;
  opening_at_ = clock_->Now();
  Touch();
}

void Exchange::MarkReleased() {
  state_ = State::kReleased;
  released_at_ = clock_->Now();
  Touch();
}

void Exchange::OnOpened() {
  result_.times.opened = clock_->Now();
  if (state_ == State::kOpening) state_ = State::kHeld;
  Touch();
}

void Exchange::OnSent() {
  result_.times.sent = clock_->Now();
}

void Exchange::NoteBytes() {
  result_.times.last_byte = clock_->Now();
  if (!result_.times.first_byte) result_.times.first_byte = result_.times.last_byte;
  Touch();
}

bool Exchange::OnHeader(std::string_view line) {
  NoteBytes();
  header_bytes_ += line.size();
  if (header_bytes_ > kMaxHeaderBytes) {
    stopped_by_ = HttpError::kTooLarge;
    return false;
  }
  if (line.starts_with("HTTP/")) {
    // Also after an interim answer (1xx), whose headers do not count.
    result_.headers.clear();
    result_.status = ReadStatus(line);
    return true;
  }
  line = Trimmed(line);
  const size_t colon = line.find(':');
  if (line.empty()) {
    BeginBody();
  } else if (colon != std::string_view::npos) {
    result_.headers.emplace_back(LowerCase(line.substr(0, colon)), Trimmed(line.substr(colon + 1)));
  }
  return true;
}

void Exchange::BeginBody() {
  const bool good = result_.status >= 200 && result_.status < 300;
  if (parser_ || !good || request_->format == BodyFormat::kWhole) return;
  const std::string* type = result_.FindHeader("content-type");
  const bool is_json = type != nullptr && LowerCase(*type).starts_with("application/json");
  if (request_->format == BodyFormat::kSse && is_json) return;
  parser_.emplace(request_->format);
}

bool Exchange::OnBody(std::string_view bytes) {
  NoteBytes();
  const size_t room = request_->max_response_bytes - result_.received_bytes;
  const std::string_view taken = bytes.substr(0, room);
  result_.received_bytes += taken.size();
  (parser_ ? pending_ : result_.body) += taken;
  if (taken.size() == bytes.size()) return true;
  stopped_by_ = HttpError::kTooLarge;
  return false;
}

void Exchange::OnEnd(HttpError error, const std::string& detail) {
  end_ = TransferEnd{stopped_by_ == HttpError::kNone ? error : stopped_by_, detail};
  Touch();
}

bool Exchange::Process(const EventHandler& on_event) {
  touched_ = false;
  if (state_ == State::kEnded) return false;
  const StreamParser::Sink sink = [&](std::string_view data, std::string_view name) {
    HandOver(data, name, on_event);
  };
  if (parser_ && !pending_.empty()) {
    parser_->Feed(pending_, sink);
    pending_.clear();
  }
  if (end_ && parser_ && end_->error == HttpError::kNone) parser_->Finish(sink);
  if (end_) {
    Settle(close_ ? HttpError::kClosed : end_->error, end_->detail);
    return false;
  }
  if (close_) Settle(HttpError::kClosed, "");
  return close_;
}

void Exchange::HandOver(std::string_view data, std::string_view name,
                        const EventHandler& on_event) {
  if (close_) return;
  StreamEvent event;
  event.data = data;
  event.name = name;
  event.index = result_.num_events++;
  event.valid_utf8 = IsUtf8(data) && IsUtf8(name);
  event.time_s = *result_.times.last_byte;
  if (!event.valid_utf8) result_.invalid_utf8 = true;
  if (!result_.times.first_event) result_.times.first_event = event.time_s;
  const StreamProgress progress = on_event(event);
  tokens_ = progress.tokens;
  close_ = progress.close;
}

void Exchange::EndWith(HttpError error) {
  Settle(error, "");
  Touch();
}

void Exchange::Settle(HttpError error, const std::string& detail) {
  if (parser_) {
    result_.done_marker = parser_->done();
    result_.unfinished_bytes = parser_->unfinished_bytes();
  }
  // A stream that has said that it is done is whole, however its connection ended.
  const bool broke = error == HttpError::kReset || error == HttpError::kTruncated;
  if (broke && result_.done_marker) error = HttpError::kNone;
  // What the server answered says more than how its connection ended.
  const bool answered = error == HttpError::kNone || broke || error == HttpError::kTooLarge;
  if (answered && StatusError() != HttpError::kNone) error = StatusError();
  if (!IsUtf8(result_.body)) result_.invalid_utf8 = true;
  result_.retry_after_s = ReadRetryAfter(result_.FindHeader("retry-after"));
  result_.error = error;
  result_.message = Message(error, detail);
  result_.times.ended = clock_->Now();
  state_ = State::kEnded;
}

HttpError Exchange::StatusError() const {
  if (result_.status == 0 || (result_.status >= 200 && result_.status < 300)) {
    return HttpError::kNone;
  }
  return result_.status >= 300 && result_.status < 400 ? HttpError::kRedirect : HttpError::kStatus;
}

std::string Exchange::Message(HttpError error, const std::string& detail) const {
  const Deadlines& deadlines = request_->deadlines;
  const auto fact = [&]() -> std::string {
    const std::string status = std::to_string(result_.status);
    switch (error) {
      case HttpError::kOpenTimeout:
        return "not connected, or the request not taken, within " + Seconds(deadlines.open_s);
      case HttpError::kFirstByteTimeout:
        return "no answer within " + Seconds(deadlines.first_byte_s);
      case HttpError::kIdleTimeout:
        return "the answer stopped for " + Seconds(deadlines.idle_s);
      case HttpError::kTotalTimeout:
        return "the answer did not end within " + Seconds(deadlines.total_s);
      case HttpError::kTooLarge:
        return "the answer has more than " + std::to_string(request_->max_response_bytes) +
               " bytes, or more than " + std::to_string(kMaxHeaderBytes) + " in its head";
      case HttpError::kRedirect: {
        const std::string* target = result_.FindHeader("location");
        return "status " + status + ", redirected to " +
               (target != nullptr ? UrlInMessage(*target) : "nowhere") +
               "; redirects are not followed";
      }
      case HttpError::kStatus:
        return "status " + status +
               (result_.retry_after_s ? ", retry after " + Seconds(*result_.retry_after_s) : "");
      case HttpError::kInterrupted:
        return "interrupted";
      case HttpError::kReset:
        return (result_.times.sent ? "connection broke: "
                                   : "connection broke before the release: ") +
               detail;
      default:
        return std::string(HttpErrorName(error)) + ": " + detail;
    }
  };
  if (error == HttpError::kNone || error == HttpError::kClosed) return "";
  const std::string_view path =
      std::string_view(request_->path).substr(0, request_->path.find('?'));
  std::string message = *label_ + ", " + request_->method + " " + std::string(path) + ": " + fact();
  if (result_.received_bytes > 0 && result_.error != HttpError::kStatus) {
    message += " (after " + std::to_string(result_.received_bytes) + " bytes, " +
               std::to_string(result_.num_events) + " events)";
  }
  return message;
}

double Exchange::NextDeadline() const {
  const Deadlines& deadlines = request_->deadlines;
  if (state_ == State::kOpening) return opening_at_ + deadlines.open_s;
  if (state_ != State::kReleased) return kNever;
  const double next_byte = result_.times.last_byte ? *result_.times.last_byte + deadlines.idle_s
                                                   : released_at_ + deadlines.first_byte_s;
  return std::min(next_byte, released_at_ + deadlines.total_s);
}

HttpError Exchange::Overdue(double now) const {
  if (now < NextDeadline()) return HttpError::kNone;
  if (state_ == State::kOpening) return HttpError::kOpenTimeout;
  if (now >= released_at_ + request_->deadlines.total_s) return HttpError::kTotalTimeout;
  return result_.times.last_byte ? HttpError::kIdleTimeout : HttpError::kFirstByteTimeout;
}

}  // namespace detcheck
