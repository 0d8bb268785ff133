#include "engine/server/connection_threads.h"

#include <gtest/gtest.h>

#include <latch>

namespace detcheck {
namespace {

TEST(ConnectionThreadsTest, EachConnectionHasAThreadOfItsOwn) {
  constexpr int kNum = 40;
  ConnectionThreads threads(/*most=*/kNum);
  std::latch all(kNum);  // Opens only where all of them run at once.
  for (int i = 0; i < kNum; ++i) {
    threads.enqueue([&all] { all.arrive_and_wait(); });
  }
  all.wait();
  threads.shutdown();
}

TEST(ConnectionThreadsTest, MoreThanTheMostWaitAndAreServed) {
  ConnectionThreads threads(/*most=*/2);
  std::latch release(1);
  std::atomic<int> num_running = 0;
  std::atomic<int> most_running = 0;
  std::atomic<int> num_served = 0;
  for (int i = 0; i < 6; ++i) {
    threads.enqueue([&] {
      const int running = ++num_running;
      int most = most_running;
      while (running > most && !most_running.compare_exchange_weak(most, running)) {
      }
      release.wait();
      --num_running;
      ++num_served;
    });
  }
  release.count_down();
  threads.shutdown();
  EXPECT_EQ(num_served, 6);
  EXPECT_LE(most_running, 2);
}

}  // namespace
}  // namespace detcheck
