#include "engine/embedded/cpu/thread_pool.h"

#include <algorithm>
#include <chrono>

namespace detcheck::cpu {
namespace {

constexpr uint32_t kInside = 1;
constexpr uint32_t kInsideMask = 0x7fff;
constexpr uint32_t kOpen = 0x8000;
constexpr uint32_t kNextJob = 0x10000;
constexpr uint32_t kJobMask = 0xffff0000;
constexpr std::chrono::microseconds kSpin{20};
constexpr int kPausesPerLook = 8;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

ThreadPool::ThreadPool(int num_threads) {
  if (num_threads <= 0) num_threads = static_cast<int>(std::thread::hardware_concurrency());
  num_threads = std::clamp(num_threads, 1, static_cast<int>(kInsideMask));
  workers_.reserve(static_cast<size_t>(num_threads - 1));
  for (int i = 1; i < num_threads; ++i) workers_.emplace_back([this] { WorkerLoop(); });
}

ThreadPool::~ThreadPool() {
  stopping_.store(true);
  gate_.fetch_add(kNextJob);
  gate_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Run(const Job& job) {
  const bool alone = workers_.empty() || job.num_tasks <= 1 || busy_.exchange(true);
  if (alone) {
    for (int64_t task = 0; task < job.num_tasks; ++task) job.call(job.fn, task);
    return;
  }
  job_ = job;
  next_task_.store(0, std::memory_order_relaxed);
  gate_.store((gate_.load() & kJobMask) + kNextJob + kOpen);
  gate_.notify_all();
  TakeTasks();
  uint32_t gate = gate_.fetch_and(~kOpen) & ~kOpen;
  while ((gate & kInsideMask) != 0) gate = WaitForChange(gate);
  busy_.store(false);
}

void ThreadPool::WorkerLoop() {
  uint32_t last_job = 0;
  uint32_t gate = gate_.load();
  while (!stopping_.load()) {
    const bool can_enter = (gate & kOpen) != 0 && (gate & kJobMask) != last_job;
    if (!can_enter) {
      gate = WaitForChange(gate);
      continue;
    }
    if (!gate_.compare_exchange_weak(gate, gate + kInside)) continue;
    last_job = gate & kJobMask;
    TakeTasks();
    gate = gate_.fetch_sub(kInside) - kInside;
    if ((gate & (kOpen | kInsideMask)) == 0) gate_.notify_all();
  }
}

void ThreadPool::TakeTasks() {
  for (;;) {
    const int64_t task = next_task_.fetch_add(1, std::memory_order_relaxed);
    if (task >= job_.num_tasks) return;
    job_.call(job_.fn, task);
  }
}

uint32_t ThreadPool::WaitForChange(uint32_t seen) const {
  const auto deadline = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < kPausesPerLook; ++i) {
      const uint32_t gate = gate_.load();
      if (gate != seen) return gate;
      Pause();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  gate_.wait(seen);
  return gate_.load();
}

}  // namespace detcheck::cpu
