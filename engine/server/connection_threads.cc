#include "engine/server/connection_threads.h"

#include <system_error>
#include <utility>

namespace detcheck {

void ConnectionThreads::enqueue(std::function<void()> serve) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(serve));
  const bool wanted = static_cast<int>(waiting_.size()) > num_idle_;
  if (wanted && static_cast<int>(threads_.size()) < most_) {
    try {
      threads_.emplace_back([this] { Work(); });
    } catch (const std::system_error&) {
      // The system gives no more of them: as with the most.
    }
  }
  changed_.notify_one();
}

void ConnectionThreads::shutdown() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void ConnectionThreads::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++num_idle_;
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    --num_idle_;
    if (waiting_.empty()) return;
    const std::function<void()> serve = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    serve();
    lock.lock();
  }
}

}  // namespace detcheck
