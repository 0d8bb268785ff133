#pragma once

#include <httplib.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace detcheck {

/// One thread for each open connection: the library's own pool has a fixed number, a connection
/// keeps its thread while it is open, and a batch of more requests would never form. Threads are
/// made as they are needed; connections beyond `most`, or beyond what the system gives, wait for
/// one to end.
class ConnectionThreads : public httplib::TaskQueue {
 public:
  explicit ConnectionThreads(int most) : most_(most) {}
  ~ConnectionThreads() override { shutdown(); }

  void enqueue(std::function<void()> serve) override;
  /// Waits until every connection has been served.
  void shutdown() override;

 private:
  void Work();

  const int most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::list<std::thread> threads_;
  int num_idle_ = 0;
  bool ending_ = false;
};

}  // namespace detcheck
