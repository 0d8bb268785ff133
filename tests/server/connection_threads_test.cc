#include "engine/server/connection_threads.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

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

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // They need room themselves.

/// Serves more connections at once than there is room for threads; ends the process.
void ServeWithoutRoom() noexcept {
  constexpr int kNum = 200;
  std::atomic<int> num_served = 0;
  ConnectionThreads threads(/*most=*/kNum);
  rlimit room{};
  getrlimit(RLIMIT_AS, &room);
  room.rlim_cur = rlim_t{1} << 30;  // A thread's stack alone is of several MB.
  setrlimit(RLIMIT_AS, &room);
  std::latch release(1);
  for (int i = 0; i < kNum; ++i) {
    threads.enqueue([&] {
      release.wait();
      ++num_served;
    });
  }
  release.count_down();
  threads.shutdown();
  _exit(num_served == kNum ? 0 : 1);
}

TEST(ConnectionThreadsTest, WithoutRoomForMoreThreadsConnectionsWait) {
  EXPECT_EXIT(ServeWithoutRoom(), testing::ExitedWithCode(0), "");
}

#endif

}  // namespace
}  // namespace detcheck
