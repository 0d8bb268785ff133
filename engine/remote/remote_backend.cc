#include "engine/remote/remote_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/remote/server_error.h"

namespace detcheck {
namespace {

constexpr double kFlushDeadline_s = 30.0;
constexpr double kFlushPause_s = 0.2;
/// Servers notice after seconds that a client has gone.
constexpr double kIdleDeadline_s = 10.0;
constexpr double kIdlePause_s = 0.02;
constexpr double kLongestPause_s = 30.0;  // of Retry-After
constexpr double kLongestIdle_s = 120.0;
constexpr int kTooMany = 429;
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kServerError = 500;

void Pause(double seconds, const std::atomic<bool>& stop) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!stop && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Whether the failure is of the server as a whole rather than of one request.
bool IsOfServer(const HttpResult& http) {
  if (!http.Failed()) return false;
  return http.status == 0 || http.status == kTooMany || http.status == kUnauthorized ||
         http.status == kForbidden || http.status >= kServerError;
}

int TokensOf(const Answer& answer) {
  return answer.num_tokens.value_or(static_cast<int>(answer.token_ids.size()));
}

/// What is wrong with an answer that came to its end; empty: nothing.
std::string WhatIsWrong(const BatchItem& item, const Answer& answer) {
  const int num_tokens = TokensOf(answer);
  if (!answer.finish) return "the answer ended without a finish reason";
  if (num_tokens > item.request.max_new_tokens) {
    return fmt::format("{} tokens were answered, {} asked for", num_tokens,
                       item.request.max_new_tokens);
  }
  const auto num_logprobs = static_cast<int>(answer.logprobs.size());
  // Servers that give no IDs leave out the logprobs of tokens that have no text of their own.
  if (item.request.top_logprobs && num_logprobs > 0 && num_logprobs != num_tokens &&
      !answer.num_tokens) {
    return fmt::format("{} tokens came with {} logprobs", num_tokens, num_logprobs);
  }
  if (answer.text && !IsUtf8(*answer.text)) return "the answer's text is not UTF-8";
  return "";
}

/// The count as the server told it must be that of the IDs that its text stands for.
void RequireCount(size_t num_ids, Completion* completion) {
  if (!completion->error.empty() || !completion->prompt_tokens ||
      *completion->prompt_tokens == static_cast<int>(num_ids)) {
    return;
  }
  completion->finish_reason = FinishReason::kError;
  completion->error = fmt::format("{} tokens were sent as text, the server counted {}", num_ids,
                                  *completion->prompt_tokens);
}

/// Of an answer that came to its end by itself, in IDs. Where some are left out, those that came
/// would be taken for all: its text alone is kept.
void RequireAllTokens(const Answer& answer, Completion* completion) {
  const bool ended = completion->finish_reason == FinishReason::kLength ||
                     completion->finish_reason == FinishReason::kStop;
  if (!ended || answer.num_tokens || !answer.counted_tokens ||
      *answer.counted_tokens == TokensOf(answer)) {
    return;
  }
  if (answer.leaves_out_tokens && *answer.counted_tokens > TokensOf(answer)) {
    completion->token_ids.clear();
    completion->logprobs.clear();
    completion->completion_tokens = answer.counted_tokens;
    return;
  }
  completion->finish_reason = FinishReason::kError;
  completion->error = fmt::format("{} tokens came, the server counted {}", TokensOf(answer),
                                  *answer.counted_tokens);
}

}  // namespace

BatchResult RemoteBackend::Complete(const std::vector<BatchItem>& items,
                                    const std::atomic<bool>& stop, const TokenCallback& on_token) {
  for (const BatchItem& item : items) {
    std::string why = WhyNotRun(item);
    if (!why.empty()) return {.completions = {}, .steps = {}, .voided = std::move(why)};
  }
  const LoadSample before = WaitUntilIdle(stop);
  std::vector<TimedLoad> loads;
  const std::vector<Outcome> outcomes = Exchange(items, stop, on_token, &loads);
  RequireAnswers(outcomes, stop);
  const LoadSample after = WaitUntilIdleAfter(stop);

  BatchResult result;
  std::vector<RequestSpan> spans;
  bool exact = true;
  for (size_t i = 0; i < items.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    result.completions.push_back(ToCompletion(items[i], outcome));
    Completion& completion = result.completions.back();
    if (texts_) RequireCount(items[i].request.prompt_ids.size(), &completion);
    RequireAllTokens(outcome.answer, &completion);
    exact = exact && (completion.finish_reason == FinishReason::kLength ||
                      completion.finish_reason == FinishReason::kStop);
    fingerprints_.Note(outcome.answer.fingerprint);
    spans.push_back({outcome.http.times.sent, outcome.first_token_s, outcome.last_token_s,
                     outcome.http.times.ended, NumTokens(completion), completion.prompt_tokens,
                     outcome.answer.cached_tokens});
    loads.insert(loads.end(), outcome.loads.begin(), outcome.loads.end());
  }
  FillInCachedTokens(before, after, &spans);
  const std::vector<Witness> witnesses =
      WitnessRequests(spans, loads, TokenStepsBetween(spans, before, after));
  const std::optional<int> preemptions = PreemptionsBetween(before, after);
  const bool together = FormedTogether(before, after, static_cast<int>(items.size()));
  for (size_t i = 0; i < items.size(); ++i) {
    Witness& witness = result.completions[i].witness;
    witness = witnesses[i];
    if (together) {
      witness.formed_size = static_cast<int>(items.size());
      witness.source = WitnessSource::kServer;
    }
    const std::optional<int>& own = outcomes[i].answer.preemptions;
    witness.preemptions = own ? own : preemptions;  // Some servers count those of a batch together.
  }
  if (before.total.value_or(0) > 0) {
    result.voided = fmt::format(
        "others use the server: {} requests running or waiting before the "
        "step",
        *before.total);
  } else {
    result.voided = OthersTraffic(spans, before, loads, after, exact);
  }
  return result;
}

std::string RemoteBackend::WhyNotRun(const BatchItem& item) {
  if (item.release.kind == Release::Kind::kAtEngineStep) {
    return "a server does not take requests at a given engine step";
  }
  if (texts_) {
    const PromptText& text = texts_->TextOf(item.request.prompt_ids);
    if (!text.why_not.empty()) return "not sent: " + text.why_not;
  }
  return adapter_->Refuses(item.request);
}

std::vector<RemoteBackend::Outcome> RemoteBackend::Exchange(const std::vector<BatchItem>& items,
                                                            const std::atomic<bool>& stop,
                                                            const TokenCallback& on_token,
                                                            std::vector<TimedLoad>* loads) {
  std::vector<Outcome> outcomes(items.size());
  std::vector<HttpRequest> requests;
  for (const BatchItem& item : items) requests.push_back(RequestFor(item));
  std::vector<HttpPoll> polls;
  if (const std::string path = adapter_->load_path(); !path.empty()) {
    HttpRequest look;
    look.method = "GET";
    look.path = path;
    polls.push_back({std::move(look), look_pace_.pause_s()});
  }
  HttpCallbacks callbacks;
  callbacks.on_event = [&](int item, const StreamEvent& event) {
    const StreamProgress progress = TakeEvent(event, items[item], &outcomes[item]);
    if (on_token) on_token(item, progress.tokens);
    return progress;
  };
  callbacks.on_poll = [&](int, const HttpResult& reply) {
    if (reply.Failed() || !reply.times.sent || !reply.times.first_byte) return;
    look_pace_.Note(reply.times.ended - *reply.times.sent);
    loads->push_back({*reply.times.sent, *reply.times.first_byte, adapter_->ReadLoad(reply.body)});
  };
  std::vector<HttpResult> results = client_.RunTogether(requests, polls, callbacks, stop);
  for (size_t i = 0; i < items.size(); ++i) {
    outcomes[i].http = std::move(results[i]);
    const HttpResult& http = outcomes[i].http;
    if (http.Failed() || http.num_events > 0 || http.body.empty()) continue;
    TakeAnswer(http.body, items[i].request, &outcomes[i].answer);  // It came whole.
  }
  return outcomes;
}

StreamProgress RemoteBackend::TakeEvent(const StreamEvent& event, const BatchItem& asked,
                                        Outcome* outcome) {
  Answer& answer = outcome->answer;
  const int before = TokensOf(answer);
  TakeAnswer(event.data, asked.request, &answer);
  const int num_tokens = TokensOf(answer);
  if (num_tokens > before) {
    if (!outcome->first_token_s) outcome->first_token_s = event.time_s;
    outcome->last_token_s = event.time_s;
  }
  if (answer.running) {
    LoadSample load;
    load.running = answer.running;
    outcome->loads.push_back({event.time_s, event.time_s, load});
  }
  const bool abort = asked.abort_after_tokens && num_tokens >= *asked.abort_after_tokens;
  return {.tokens = num_tokens, .close = abort || !answer.error.empty()};
}

void RemoteBackend::TakeAnswer(std::string_view json, const Request& request,
                               Answer* answer) const {
  if (!answer->error.empty()) return;
  const ParsedJson parsed = ParseJson(json);
  if (parsed.ok()) {
    adapter_->ReadEvent(parsed.root, request, answer);
  } else {
    answer->error = "what came is no JSON: " + parsed.error;
  }
}

HttpRequest RemoteBackend::RequestFor(const BatchItem& item) {
  Request request = item.request;
  if (texts_) request.prompt_text = texts_->TextOf(request.prompt_ids).text;
  HttpRequest http = adapter_->Ask(request, SaltFor(request.cache));
  http.release = item.release;
  http.deadlines.first_byte_s = options_.timeout_s;
  http.deadlines.idle_s = std::min(options_.timeout_s, kLongestIdle_s);
  http.deadlines.total_s = options_.timeout_s;
  return http;
}

std::string RemoteBackend::SaltFor(CacheWish cache) {
  return cache == CacheWish::kBypass ? fmt::format("detcheck-{}-{}", run_id_, ++num_salts_)
                                     : fmt::format("detcheck-{}-shared{}", run_id_, epoch_);
}

Completion RemoteBackend::ToCompletion(const BatchItem& item, const Outcome& outcome) const {
  const Answer& answer = outcome.answer;
  Completion completion;
  completion.token_ids = answer.token_ids;
  if (item.request.top_logprobs) {
    completion.logprobs = answer.logprobs;
    completion.token_bytes = answer.token_bytes;
  }
  if (answer.token_ids.empty()) completion.completion_tokens = answer.num_tokens;
  completion.text = answer.text;
  completion.prompt_tokens = answer.prompt_tokens;
  completion.times.sent = outcome.http.times.sent.value_or(0.0);
  completion.times.first_token = outcome.first_token_s.value_or(0.0);
  completion.times.last_token = outcome.last_token_s.value_or(0.0);
  completion.finish_reason = answer.finish.value_or(FinishReason::kError);
  if (!answer.error.empty()) {
    completion.error = Shown(answer.error, secret());
  } else if (outcome.http.error == HttpError::kInterrupted ||
             outcome.http.error == HttpError::kClosed) {
    completion.finish_reason = FinishReason::kAbort;
  } else if (outcome.http.Failed()) {
    completion.error = WhyFailed(outcome.http, secret());
  } else {
    completion.error = WhatIsWrong(item, answer);
  }
  if (!completion.error.empty()) completion.finish_reason = FinishReason::kError;
  if (completion.text && !IsUtf8(*completion.text)) completion.text.reset();
  return completion;
}

Completion RemoteBackend::AskAlone(const Request& request) {
  std::vector<TimedLoad> ignored;
  const BatchItem item{request, {}, {}};
  const std::string why = WhyNotRun(item);
  if (!why.empty()) throw Error(ErrorCode::kUnsupported, "pre-flight: " + why);
  const LoadSample before = Look().value_or(LoadSample());
  const std::vector<Outcome> outcomes = Exchange({item}, never_stop_, nullptr, &ignored);
  RequireAnswers(outcomes, never_stop_);
  fingerprints_.Note(outcomes[0].answer.fingerprint);
  Completion completion = ToCompletion(item, outcomes[0]);
  std::vector<RequestSpan> span(1);
  span[0].prompt_tokens = completion.prompt_tokens;
  span[0].cached_tokens = outcomes[0].answer.cached_tokens;
  FillInCachedTokens(before, Look().value_or(LoadSample()), &span);
  completion.witness.cached_tokens = span[0].cached_tokens;
  return completion;
}

std::optional<LoadSample> RemoteBackend::Look() {
  const std::string path = adapter_->load_path();
  if (path.empty()) return std::nullopt;
  const Reply reply = calls_.Get(path);
  if (!reply.Ok()) return std::nullopt;
  look_pace_.Note(reply.took_s);
  return adapter_->ReadLoad(reply.body);
}

LoadSample RemoteBackend::WaitUntilIdle(const std::atomic<bool>& stop) {
  LoadSample sample;
  const double until = Now() + std::min(kIdleDeadline_s, options_.timeout_s);
  while (!stop) {
    sample = Look().value_or(sample);
    if (sample.total.value_or(0) == 0 || Now() >= until) break;
    Pause(kIdlePause_s, stop);
  }
  return sample;
}

LoadSample RemoteBackend::WaitUntilIdleAfter(const std::atomic<bool>& stop) {
  try {
    return WaitUntilIdle(stop);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kTarget) throw;
    return {};  // Whoever asks next is told.
  }
}

// Where nothing was answered the server is at fault, not a request.
void RemoteBackend::RequireAnswers(const std::vector<Outcome>& outcomes,
                                   const std::atomic<bool>& stop) const {
  const bool none = std::all_of(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) {
    return IsOfServer(outcome.http) && outcome.http.error != HttpError::kInterrupted;
  });
  if (!none || outcomes.empty()) return;
  double pause_s = 0.0;
  for (const Outcome& outcome : outcomes) {
    pause_s = std::max(pause_s, outcome.http.retry_after_s.value_or(0.0));
  }
  Pause(std::min(pause_s, kLongestPause_s), stop);
  throw Error(ErrorCode::kTarget, WhyFailed(outcomes.front().http, secret()));
}

std::vector<TokenLogprob> RemoteBackend::Score(const std::vector<TokenId>& ids, int top_logprobs) {
  HttpRequest http = adapter_->AskScores(ids, top_logprobs, SaltFor(CacheWish::kBypass));
  http.deadlines.first_byte_s = options_.timeout_s;
  http.deadlines.total_s = options_.timeout_s;
  const HttpResult result = client_.Run(http, never_stop_);
  if (result.Failed()) throw Error(ErrorCode::kTarget, WhyFailed(result, secret()));
  const ParsedJson parsed = ParseJson(result.body);
  const std::string error = parsed.ok() ? ErrorIn(parsed.root) : parsed.error;
  if (!error.empty()) throw Error(ErrorCode::kTarget, Shown(error, secret()));
  return adapter_->ReadScores(parsed.root, ids);
}

FlushResult RemoteBackend::Flush() {
  if (adapter_->salts() && claims_.facts.capabilities.cache_bypass) {
    ++epoch_;
    return {true, "a new cache salt: nothing that was cached before can be read"};
  }
  const double until = Now() + kFlushDeadline_s;
  for (;;) {
    const FlushAttempt attempt = adapter_->TryFlush(&calls_);
    if (attempt.result.accepted || !attempt.may_retry || Now() >= until) return attempt.result;
    Pause(kFlushPause_s, never_stop_);
  }
}

void RemoteBackend::Restart() {
  throw Error(ErrorCode::kUnsupported, "a server cannot be restarted from here");
}

}  // namespace detcheck
