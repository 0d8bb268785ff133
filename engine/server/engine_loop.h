#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/backend.h"
#include "engine/embedded/engine.h"
#include "engine/embedded/scheduler.h"
#include "engine/server/iteration_tokens.h"
#include "engine/server/request_group.h"

namespace detcheck {

/// What the engine loop has done so far, and what it is at.
struct LoopCounters {
  int num_running = 0;
  int num_waiting = 0;
  int num_used_tokens = 0;  ///< Of the KV pool: what is neither free nor only cached.
  int64_t num_requests = 0;
  int64_t num_aborted = 0;
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;
  int64_t generated_tokens = 0;
  int64_t preemptions = 0;
  int64_t engine_steps = 0;
  int64_t step_tokens = 0;  ///< Of all engine steps.
  IterationTokens iteration_tokens;
};

/// The one thread that drives an engine for everybody: requests join the running batch between
/// engine steps. Thread-safe but for construction and destruction.
class EngineLoop {
 public:
  /// `engine` must outlive the loop and is the loop's alone while it lives.
  explicit EngineLoop(Engine* engine);
  /// Aborts what still runs.
  ~EngineLoop();
  EngineLoop(const EngineLoop&) = delete;
  EngineLoop& operator=(const EngineLoop&) = delete;

  /// Hands over the requests of a group, all before one engine step. Each must be one that
  /// Engine::WhyRefused finds nothing in.
  void Submit(const std::shared_ptr<RequestGroup>& group);
  /// Cancels what has not ended of a group, before the next engine step.
  void Cancel(std::shared_ptr<RequestGroup> group);

  /// Empties the prefix cache when nothing runs or waits, or refuses after `timeout` or once
  /// `unwanted`, which is asked all the while, says so.
  FlushResult Flush(std::chrono::milliseconds timeout, const std::function<bool()>& unwanted);

  LoopCounters counters() const;
  /// Why the engine can do no more; empty while it can.
  std::string failure() const;

 private:
  struct Place {
    std::shared_ptr<RequestGroup> group;
    int index = 0;
    int num_prefilled = 0;  ///< Tokens of it that prefill has computed.
  };
  struct PendingFlush {
    std::chrono::steady_clock::time_point deadline;
    std::optional<FlushResult> result;
  };

  void Run();
  /// Waits for something to do; false: the end.
  bool WaitForWork();
  void TakeCancelled();
  /// Gives arrivals to the scheduler; those that come after one whose prompt cannot be scored for
  /// want of pages wait with it. Scoring takes its time: what is cancelled meanwhile is not scored.
  void TakeArrivals();
  void Step();
  /// Counts an engine step, before what has ended in it is delivered.
  void CountStep(const StepOutcome& outcome);
  /// Publishes the counters, and then hands over what has ended: who has an answer sees counters
  /// without its request.
  void DeliverEnded();
  void TryFlush();
  void PublishCounters();
  void FailAll(const std::string& why);
  bool Idle() const { return places_.empty() && arrivals_.empty(); }

  Engine* engine_;
  std::unique_ptr<Scheduler> scheduler_;

  // The loop's own.
  std::deque<Place> arrivals_;
  std::map<int, Place> places_;  ///< By the scheduler's item.
  int next_item_ = 0;
  LoopCounters working_;

  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable changed_;  ///< A flush is done, or the engine failed.
  std::deque<std::shared_ptr<RequestGroup>> submitted_;
  std::deque<std::shared_ptr<RequestGroup>> cancelled_;
  std::optional<PendingFlush> flush_;
  LoopCounters counters_;
  bool ending_ = false;
  std::string failure_;
  std::thread thread_;
};

}  // namespace detcheck
