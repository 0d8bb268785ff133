#include "engine/remote/http_client.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include "engine/base/error.h"
#include "engine/remote/curl_transfers.h"
#include "engine/remote/exchange.h"

namespace detcheck {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
/// How often the stop flag is looked at.
constexpr double kStopInterval_s = 0.04;
/// Connections that are being opened at one time: servers with a short accept queue drop the rest,
/// which then come a second late.
constexpr int kMaxOpening = 32;

/// Throws Error(kInternal) where a release of `requests` could never happen.
void CheckReleases(const std::vector<HttpRequest>& requests) {
  for (size_t i = 0; i < requests.size(); ++i) {
    size_t at = i;
    for (size_t steps = 0; requests[at].release.kind != Release::Kind::kAtOnce; ++steps) {
      const Release& release = requests[at].release;
      const bool known = release.kind == Release::Kind::kAfterTokens && release.item >= 0 &&
                         static_cast<size_t>(release.item) < requests.size();
      if (!known || steps == requests.size()) {
        throw Error(ErrorCode::kInternal,
                    "request " + std::to_string(i) + ": its release cannot happen");
      }
      at = static_cast<size_t>(release.item);
    }
  }
}

/// One call of RunTogether. What still runs when it goes is cancelled.
class TogetherRun {
 public:
  TogetherRun(const std::vector<HttpRequest>& requests, const std::vector<HttpPoll>& polls,
              const HttpCallbacks& callbacks, const std::string& label, CurlTransfers* transfers)
      : callbacks_(callbacks),
        label_(label),
        transfers_(transfers),
        is_open_(requests.size()),
        followers_(requests.size()) {
    for (size_t i = 0; i < requests.size(); ++i) {
      exchanges_.push_back(NewExchange(requests[i], i));
      if (requests[i].release.kind == Release::Kind::kAfterTokens) {
        followers_[static_cast<size_t>(requests[i].release.item)].push_back(i);
      }
    }
    for (const HttpPoll& poll : polls) polls_.push_back({&poll, nullptr, 0.0});
  }
  ~TogetherRun() {
    for (const auto& exchange : exchanges_) CancelIfRunning(exchange.get());
    for (const Poll& poll : polls_) {
      if (poll.exchange) CancelIfRunning(poll.exchange.get());
    }
  }
  TogetherRun(const TogetherRun&) = delete;
  TogetherRun& operator=(const TogetherRun&) = delete;

  std::vector<HttpResult> Run(const std::atomic<bool>& stop) {
    while (num_ended_ < exchanges_.size() && !stop) {
      OpenMore();
      if (released_) StartPolls();
      if (!released_ && num_open_ == exchanges_.size()) ReleaseTogether();
      transfers_->Drive(std::clamp(next_look_ - clock_.Now(), 0.0, kStopInterval_s));
      ProcessTouched();
      LookAtDeadlines();
    }
    std::vector<HttpResult> results;
    for (const auto& exchange : exchanges_) {
      End(exchange.get(), HttpError::kInterrupted);
      results.push_back(exchange->TakeResult());
    }
    return results;
  }

 private:
  struct Poll {
    const HttpPoll* poll;
    std::unique_ptr<Exchange> exchange;  ///< Null between two requests.
    double next_at;
    bool again_at_once = false;  ///< After the request that is under way.
  };
  using State = Exchange::State;

  std::unique_ptr<Exchange> NewExchange(const HttpRequest& request, size_t index) {
    return std::make_unique<Exchange>(request, index, label_, clock_, &touched_);
  }

  void CancelIfRunning(Exchange* exchange) {
    if (exchange->IsRunning()) transfers_->Cancel(exchange);
  }

  void End(Exchange* exchange, HttpError error) {
    if (exchange->state() == State::kEnded) return;
    CancelIfRunning(exchange);
    exchange->EndWith(error);
  }

  /// Opens requests in order, a few at a time. Those without a body wait for their release.
  void OpenMore() {
    while (num_started_ < exchanges_.size() && num_opening_ < kMaxOpening) {
      Exchange* exchange = exchanges_[num_started_++].get();
      if (exchange->request().body.empty()) {
        is_open_[exchange->index()] = true;
        ++num_open_;
        continue;
      }
      ++num_opening_;
      exchange->MarkOpening();
      transfers_->Start(exchange->request(), CurlTransfers::Connection::kOwn, true, exchange);
    }
  }

  void ReleaseTogether() {
    released_ = true;
    for (const auto& exchange : exchanges_) {
      if (exchange->request().release.kind == Release::Kind::kAtOnce) ReleaseOne(exchange.get());
    }
    // What was to come first may have failed before.
    for (const auto& exchange : exchanges_) ReleaseFollowers(*exchange);
    next_look_ = 0.0;  // Polls begin as soon as the last bytes are written.
  }

  void ReleaseOne(Exchange* exchange) {
    if (exchange->state() == State::kHeld) {
      exchange->MarkReleased();
      transfers_->LetGo(exchange);
    } else if (exchange->state() == State::kUnopened) {
      exchange->MarkReleased();
      transfers_->Start(exchange->request(), CurlTransfers::Connection::kOwn, false, exchange);
    }
  }

  /// Releases what waits for `anchor`, as far as that has come.
  void ReleaseFollowers(const Exchange& anchor) {
    for (const size_t follower : followers_[anchor.index()]) {
      Exchange* exchange = exchanges_[follower].get();
      const bool far_enough = anchor.tokens() >= exchange->request().release.count;
      if (far_enough || anchor.state() == State::kEnded) ReleaseOne(exchange);
    }
  }

  void StartPolls() {
    for (size_t i = 0; i < polls_.size(); ++i) {
      Poll& poll = polls_[i];
      if (poll.exchange) continue;
      if (clock_.Now() < poll.next_at) {
        next_look_ = std::min(next_look_, poll.next_at);
        continue;
      }
      const HttpRequest& request = poll.poll->request;
      poll.exchange = NewExchange(request, exchanges_.size() + i);
      poll.exchange->MarkReleased();
      transfers_->Start(request, CurlTransfers::Connection::kPooled, false, poll.exchange.get());
    }
  }

  /// Whether all that were released and have not ended have a token.
  bool AllHaveBegun() const {
    return std::all_of(exchanges_.begin(), exchanges_.end(), [](const auto& exchange) {
      return exchange->state() != State::kReleased || exchange->tokens() > 0;
    });
  }

  void PollNow() {
    for (Poll& poll : polls_) {
      poll.next_at = 0.0;
      poll.again_at_once = poll.exchange != nullptr;
    }
  }

  void ProcessTouched() {
    while (!touched_.empty()) {
      std::vector<Exchange*> touched;
      touched.swap(touched_);
      for (Exchange* exchange : touched) {
        if (exchange->index() < exchanges_.size()) {
          ProcessRequest(exchange);
        } else {
          ProcessPoll(exchange);
        }
      }
    }
  }

  void ProcessRequest(Exchange* exchange) {
    const size_t index = exchange->index();
    const bool had_begun = exchange->tokens() > 0;
    const bool cancel = exchange->Process([this, index](const StreamEvent& event) {
      return callbacks_.on_event ? callbacks_.on_event(static_cast<int>(index), event)
                                 : StreamProgress();
    });
    if (cancel) transfers_->Cancel(exchange);
    if (exchange->RefusedEarly()) ReleaseOne(exchange);
    if (!is_open_[index] && exchange->state() != State::kOpening) {
      is_open_[index] = true;
      ++num_open_;
      --num_opening_;
    }
    if (exchange->state() == State::kEnded) ++num_ended_;
    if (released_) ReleaseFollowers(*exchange);
    if (!had_begun && exchange->tokens() > 0 && AllHaveBegun()) PollNow();
    next_look_ = std::min(next_look_, exchange->NextDeadline());
  }

  void ProcessPoll(Exchange* exchange) {
    exchange->Process([](const StreamEvent&) { return StreamProgress(); });
    next_look_ = std::min(next_look_, exchange->NextDeadline());
    if (exchange->state() != State::kEnded) return;
    const size_t index = exchange->index() - exchanges_.size();
    const HttpResult result = exchange->TakeResult();
    Poll& poll = polls_[index];
    poll.exchange.reset();
    poll.next_at = clock_.Now() + (poll.again_at_once ? 0.0 : poll.poll->interval_s);
    poll.again_at_once = false;
    if (callbacks_.on_poll) callbacks_.on_poll(static_cast<int>(index), result);
  }

  void LookAtDeadlines() {
    const double now = clock_.Now();
    if (now < next_look_) return;
    next_look_ = kNever;
    for (const auto& exchange : exchanges_) LookAtDeadline(exchange.get(), now);
    for (const Poll& poll : polls_) {
      if (poll.exchange) LookAtDeadline(poll.exchange.get(), now);
    }
    ProcessTouched();
  }

  void LookAtDeadline(Exchange* exchange, double now) {
    const HttpError overdue = exchange->Overdue(now);
    if (overdue != HttpError::kNone) {
      End(exchange, overdue);
    } else {
      next_look_ = std::min(next_look_, exchange->NextDeadline());
    }
  }

  const HttpCallbacks& callbacks_;
  const std::string& label_;
  CurlTransfers* transfers_;
  RunClock clock_;
  std::vector<Exchange*> touched_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;  ///< By request.
  std::vector<Poll> polls_;
  std::vector<bool> is_open_;                   ///< By request: held, ended, or without a body.
  std::vector<std::vector<size_t>> followers_;  ///< By request: what its progress releases.
  size_t num_started_ = 0;
  int num_opening_ = 0;
  size_t num_open_ = 0;
  size_t num_ended_ = 0;
  bool released_ = false;      ///< ReleaseTogether was called.
  double next_look_ = kNever;  ///< When a deadline strikes or a poll is due.
};

}  // namespace

HttpClient::HttpClient(Endpoint endpoint)
    : endpoint_(std::move(endpoint)), transfers_(std::make_unique<CurlTransfers>(endpoint_)) {
  const std::string& ca_cert_file = endpoint_.tls.ca_cert_file;
  if (!ca_cert_file.empty() && !std::ifstream(ca_cert_file).good()) {
    throw Error(ErrorCode::kInput, ca_cert_file + ": cannot be read");
  }
}

HttpClient::~HttpClient() = default;

std::vector<HttpResult> HttpClient::RunTogether(const std::vector<HttpRequest>& requests,
                                                const std::vector<HttpPoll>& polls,
                                                const HttpCallbacks& callbacks,
                                                const std::atomic<bool>& stop) {
  CheckReleases(requests);
  TogetherRun run(requests, polls, callbacks, endpoint_.label, transfers_.get());
  return run.Run(stop);
}

HttpResult HttpClient::Run(const HttpRequest& request, const std::atomic<bool>& stop) {
  return std::move(RunTogether({request}, {}, {}, stop).front());
}

}  // namespace detcheck
