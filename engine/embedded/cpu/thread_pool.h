#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace detcheck::cpu {

/// A small persistent pool. Work is a number of independent tasks; the calling thread takes part.
///
/// Bits never depend on the number of threads: a task is a whole piece of output, no task is a part
/// of a reduction, and which thread runs which task is left to chance.
class ThreadPool {
 public:
  /// `num_threads` counts the calling thread; 0 means one per processor.
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls fn(task) once for each task in [0, num_tasks) and returns when all have returned; what
  /// the tasks wrote is then visible. `fn` must not throw. A call from inside a task, or while
  /// another thread is in ParallelFor, runs its tasks on the calling thread alone.
  template <typename Fn>
  void ParallelFor(int64_t num_tasks, const Fn& fn) {
    Run({[](const void* f, int64_t task) { (*static_cast<const Fn*>(f))(task); }, &fn, num_tasks});
  }

 private:
  struct Job {
    void (*call)(const void* fn, int64_t task);
    const void* fn;
    int64_t num_tasks;
  };

  void Run(const Job& job);
  void WorkerLoop();
  void TakeTasks();
  /// Waits until `gate_` is not `seen`: spins for about 20 microseconds, then sleeps.
  uint32_t WaitForChange(uint32_t seen) const;

  // The gate: bits 0..14 workers inside the job, bit 15 open, bits 16..31 job number. A worker
  // enters an open job it has not seen by adding one, so a worker that wakes too late holds nobody
  // up.
  std::atomic<uint32_t> gate_{0};
  std::atomic<int64_t> next_task_{0};
  std::atomic<bool> busy_{false};
  std::atomic<bool> stopping_{false};
  Job job_{};  // Written while the gate is closed and nobody is inside.
  std::vector<std::thread> workers_;
};

}  // namespace detcheck::cpu
