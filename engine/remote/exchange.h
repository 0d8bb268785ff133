#pragma once

// Internal to engine/remote: one request and what has come of it so far.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/remote/curl_transfers.h"
#include "engine/remote/http.h"
#include "engine/remote/http_client.h"
#include "engine/remote/stream_parser.h"

namespace detcheck {

/// Seconds since its construction, on the steady clock.
class RunClock {
 public:
  double Now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Collects an answer: libcurl's callbacks only note what came; events are handed over by Process,
/// outside of them.
class Exchange : public TransferObserver {
 public:
  enum class State {
    kUnopened,
    kOpening,
    kHeld,  ///< Written up to the last byte.
    kReleased,
    kEnded,  ///< `result` is whole.
  };
  using EventHandler = std::function<StreamProgress(const StreamEvent&)>;

  /// `label` names the server in messages. Each change adds the exchange to `touched`, once. All
  /// must outlive it.
  Exchange(const HttpRequest& request, size_t index, const std::string& label,
           const RunClock& clock, std::vector<Exchange*>* touched)
      : request_(&request), index_(index), label_(&label), clock_(&clock), touched_list_(touched) {}

  const HttpRequest& request() const { return *request_; }
  size_t index() const { return index_; }  ///< The caller's number for it.
  State state() const { return state_; }
  bool IsRunning() const { return state_ != State::kUnopened && state_ != State::kEnded; }
  /// Held, but the server has refused it already: nothing is to be waited for.
  bool RefusedEarly() const { return state_ == State::kHeld && result_.status >= 300; }
  int tokens() const { return tokens_; }
  HttpResult TakeResult() { return std::move(result_); }

  /// It is being opened (a request without a body: opened and sent).
  void MarkOpening();
  /// Its last byte may go.
  void MarkReleased();

  /// Hands over the events that have come, and settles the result where the transfer has ended.
  /// True: the connection is to be cancelled, and the exchange has ended, because `on_event` said
  /// so. To be called for each exchange that was touched.
  bool Process(const EventHandler& on_event);

  /// Ends it from outside, after its transfer was cancelled.
  void EndWith(HttpError error);

  /// When the next deadline strikes (RunClock), or infinity.
  double NextDeadline() const;
  /// The deadline that has struck by `now`, or kNone.
  HttpError Overdue(double now) const;

  void OnOpened() override;
  void OnSent() override;
  bool OnHeader(std::string_view line) override;
  bool OnBody(std::string_view bytes) override;
  void OnEnd(HttpError error, const std::string& detail) override;

 private:
  struct TransferEnd {
    HttpError error;
    std::string detail;
  };

  void Touch();
  void NoteBytes();
  void BeginBody();
  void HandOver(std::string_view data, std::string_view name, const EventHandler& on_event);
  void Settle(HttpError error, const std::string& detail);
  HttpError StatusError() const;
  std::string Message(HttpError error, const std::string& detail) const;

  const HttpRequest* request_;
  size_t index_;
  const std::string* label_;
  const RunClock* clock_;
  std::vector<Exchange*>* touched_list_;
  bool touched_ = false;  ///< Since the last Process.
  State state_ = State::kUnopened;
  double opening_at_ = 0.0;
  double released_at_ = 0.0;
  HttpResult result_;
  size_t header_bytes_ = 0;
  std::optional<StreamParser> parser_;  ///< Present once a stream has begun.
  std::string pending_;                 ///< Of the stream, not yet handed over.
  int tokens_ = 0;
  bool close_ = false;
  HttpError stopped_by_ = HttpError::kNone;  ///< Why a callback ended the transfer.
  std::optional<TransferEnd> end_;
};

}  // namespace detcheck
