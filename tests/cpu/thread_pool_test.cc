#include "engine/embedded/cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace detcheck::cpu {
namespace {

TEST(ThreadPool, CountsTheCallingThread) {
  EXPECT_EQ(ThreadPool(1).num_threads(), 1);
  EXPECT_EQ(ThreadPool(5).num_threads(), 5);
  EXPECT_GE(ThreadPool(0).num_threads(), 1);
}

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (int num_threads = 1; num_threads <= 8; ++num_threads) {
    ThreadPool pool(num_threads);
    for (int64_t num_tasks : {0, 1, 2, 3, 7, 64, 1000}) {
      std::vector<int> runs(static_cast<size_t>(num_tasks));
      pool.ParallelFor(num_tasks, [&](int64_t task) { ++runs[static_cast<size_t>(task)]; });
      EXPECT_EQ(runs, std::vector<int>(static_cast<size_t>(num_tasks), 1)) << num_threads;
    }
  }
}

TEST(ThreadPool, ManySmallJobsFollowEachOther) {
  ThreadPool pool(4);
  std::vector<int64_t> values(16);
  for (int64_t job = 1; job <= 20000; ++job) {
    pool.ParallelFor(16, [&](int64_t task) { values[static_cast<size_t>(task)] += job; });
  }
  for (int64_t value : values) EXPECT_EQ(value, 20000 * 20001 / 2);
}

TEST(ThreadPool, WakesAfterSleeping) {
  ThreadPool pool(3);
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::atomic<int> count = 0;
    pool.ParallelFor(100, [&](int64_t) { ++count; });
    EXPECT_EQ(count, 100);
  }
}

TEST(ThreadPool, UsesOtherThreads) {
  ThreadPool pool(2);
  // Both tasks wait for each other, so that one thread alone could not finish.
  std::atomic<int> arrived = 0;
  pool.ParallelFor(2, [&](int64_t) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 2);
}

TEST(ThreadPool, RunsNestedTasksOnTheSameThread) {
  ThreadPool pool(4);
  std::atomic<int> count = 0;
  pool.ParallelFor(8, [&](int64_t) {
    const std::thread::id self = std::this_thread::get_id();
    pool.ParallelFor(8, [&](int64_t) {
      if (std::this_thread::get_id() == self) ++count;
    });
  });
  EXPECT_EQ(count, 64);
}

TEST(ThreadPool, ServesTwoCallersAtOnce) {
  ThreadPool pool(3);
  const auto call_often = [&] {
    for (int i = 0; i < 2000; ++i) {
      std::vector<int> runs(10);
      pool.ParallelFor(10, [&](int64_t task) { ++runs[static_cast<size_t>(task)]; });
      ASSERT_EQ(runs, std::vector<int>(10, 1));
    }
  };
  std::thread other(call_often);
  call_often();
  other.join();
}

}  // namespace
}  // namespace detcheck::cpu
