#include "engine/server/engine_loop.h"

#include <exception>
#include <utility>

namespace detcheck {
namespace {

/// How soon a flush that nobody waits for any more is given up.
constexpr std::chrono::milliseconds kLookAtUnwanted{50};

}  // namespace

EngineLoop::EngineLoop(Engine* engine)
    : engine_(engine), scheduler_(engine->NewScheduler()), thread_([this] { Run(); }) {}

EngineLoop::~EngineLoop() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  work_.notify_all();
  thread_.join();
}

// --- other threads ------------------------------------------------------------------------------

void EngineLoop::Submit(const std::shared_ptr<RequestGroup>& group) {
  std::string failure;
  {
    const std::lock_guard lock(mutex_);
    failure = failure_;
    if (failure.empty()) submitted_.push_back(group);
  }
  work_.notify_all();
  if (!failure.empty()) group->Fail(failure);
}

void EngineLoop::Cancel(std::shared_ptr<RequestGroup> group) {
  {
    const std::lock_guard lock(mutex_);
    cancelled_.push_back(std::move(group));
  }
  work_.notify_all();
}

FlushResult EngineLoop::Flush(std::chrono::milliseconds timeout,
                              const std::function<bool()>& unwanted) {
  std::unique_lock lock(mutex_);
  if (flush_) return {.accepted = false, .detail = "Another flush_cache is already in progress."};
  flush_ = PendingFlush{.deadline = std::chrono::steady_clock::now() + timeout, .result = {}};
  work_.notify_all();
  const auto decided = [this] { return flush_->result || !failure_.empty(); };
  while (!changed_.wait_for(lock, kLookAtUnwanted, decided) && !unwanted()) {
  }
  FlushResult result = flush_->result.value_or(FlushResult{.accepted = false, .detail = failure_});
  flush_.reset();
  return result;
}

LoopCounters EngineLoop::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

std::string EngineLoop::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

// --- the loop's thread --------------------------------------------------------------------------

void EngineLoop::Run() {
  try {
    while (WaitForWork()) {
      TakeCancelled();
      TakeArrivals();
      Step();
      TryFlush();
    }
    FailAll("the server has stopped");
  } catch (const std::exception& error) {
    FailAll(std::string("the engine failed: ") + error.what());
  }
}

bool EngineLoop::WaitForWork() {
  std::unique_lock lock(mutex_);
  const auto has_work = [this] {
    return ending_ || !submitted_.empty() || !cancelled_.empty() || (flush_ && !flush_->result) ||
           !Idle();
  };
  work_.wait(lock, has_work);
  for (auto& group : submitted_) {
    for (int i = 0; i < group->size(); ++i) arrivals_.push_back({.group = group, .index = i});
  }
  submitted_.clear();
  return !ending_;
}

void EngineLoop::TakeCancelled() {
  std::deque<std::shared_ptr<RequestGroup>> groups;
  {
    const std::lock_guard lock(mutex_);
    groups.swap(cancelled_);
  }
  for (const auto& group : groups) {
    std::erase_if(arrivals_, [&](const Place& place) {
      if (place.group != group) return false;
      Completion completion;
      completion.finish_reason = FinishReason::kAbort;
      group->End(place.index, std::move(completion));
      ++working_.num_aborted;
      return true;
    });
    std::vector<int> items;
    for (const auto& [item, place] : places_) {
      if (place.group == group) items.push_back(item);
    }
    for (const int item : items) scheduler_->Abort(item);
  }
  DeliverEnded();
}

void EngineLoop::TakeArrivals() {
  while (!arrivals_.empty()) {
    const Place place = arrivals_.front();
    const EngineRequest& wanted = place.group->request(place.index);
    if (wanted.score_prompt) {
      const std::vector<TokenId>& ids = wanted.request.prompt_ids;
      if (!engine_->HasPagesFor(static_cast<int>(ids.size())) && !places_.empty()) return;
      place.group->SetPromptLogprobs(place.index, engine_->Score(ids, wanted.prompt_top));
    }
    arrivals_.pop_front();
    places_[next_item_] = place;
    scheduler_->Add(next_item_++, &wanted.request);
    ++working_.num_requests;
    working_.prompt_tokens += static_cast<int64_t>(wanted.request.prompt_ids.size());
    if (wanted.score_prompt) TakeCancelled();
  }
}

void EngineLoop::Step() {
  const std::optional<StepOutcome> outcome = scheduler_->Step();
  if (!outcome) {
    DeliverEnded();
    return;
  }
  CountStep(*outcome);
  const auto num_rows = static_cast<int>(outcome->rows.size());
  for (const auto& answer : outcome->answers) {
    places_.at(answer.item).group->SetRunning(places_.at(answer.item).index, num_rows);
  }
  DeliverEnded();
  for (const auto& answer : outcome->answers) {
    const auto place = places_.find(answer.item);
    if (place == places_.end()) continue;
    place->second.group->AddToken(place->second.index, scheduler_->completion(answer.item));
  }
}

void EngineLoop::CountStep(const StepOutcome& outcome) {
  ++working_.engine_steps;
  for (const auto& row : outcome.rows) {
    working_.step_tokens += row.num_tokens;
    if (!row.decode) places_.at(row.item).num_prefilled += row.num_tokens;
  }
  const auto num_generated = static_cast<int64_t>(outcome.answers.size());
  working_.generated_tokens += num_generated;
  if (num_generated == 0) return;
  int64_t num_tokens = num_generated;
  for (const auto& answer : outcome.answers) {
    if (answer.num_tokens == 1) num_tokens += places_.at(answer.item).num_prefilled;
  }
  working_.iteration_tokens.Add(num_tokens);
}

void EngineLoop::DeliverEnded() {
  std::vector<EndedItem> all = scheduler_->TakeEnded();
  std::vector<Place> places;
  for (const EndedItem& ended : all) {
    places.push_back(std::move(places_.extract(ended.item).mapped()));
    const Witness& witness = ended.completion.witness;
    working_.cached_tokens += witness.cached_tokens.value_or(0);
    working_.preemptions += witness.preemptions.value_or(0);
    working_.num_aborted += ended.completion.finish_reason == FinishReason::kAbort;
  }
  PublishCounters();
  for (size_t i = 0; i < all.size(); ++i) {
    places[i].group->End(places[i].index, std::move(all[i].completion));
  }
}

void EngineLoop::TryFlush() {
  const std::lock_guard lock(mutex_);
  if (!flush_ || flush_->result) return;
  if (Idle() && submitted_.empty()) {
    flush_->result = engine_->Flush();
  } else if (std::chrono::steady_clock::now() >= flush_->deadline) {
    flush_->result = FlushResult{.accepted = false,
                                 .detail = std::to_string(places_.size() + arrivals_.size()) +
                                           " requests are running or waiting"};
  }
  changed_.notify_all();
}

void EngineLoop::PublishCounters() {
  working_.num_running = scheduler_->num_running();
  working_.num_waiting = scheduler_->num_waiting() + static_cast<int>(arrivals_.size());
  working_.num_used_tokens = engine_->kv_used_tokens();
  const std::lock_guard lock(mutex_);
  counters_ = working_;
}

void EngineLoop::FailAll(const std::string& why) {
  std::deque<std::shared_ptr<RequestGroup>> groups;
  {
    const std::lock_guard lock(mutex_);
    failure_ = why;
    groups.swap(submitted_);
  }
  for (const auto& [item, place] : places_) groups.push_back(place.group);
  for (const Place& place : arrivals_) groups.push_back(place.group);
  for (const auto& group : groups) group->Fail(why);
  changed_.notify_all();
}

}  // namespace detcheck
