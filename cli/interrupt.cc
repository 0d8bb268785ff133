#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include "cli/exit_status.h"

namespace detcheck {
namespace {

std::atomic<bool> stop_wanted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "used in a signal handler");

void OnSignal(int) {
  if (stop_wanted.exchange(true)) _exit(static_cast<int>(ExitStatus::kInterrupted));
}

}  // namespace

const std::atomic<bool>& CatchSignals() {
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return stop_wanted;
}

}  // namespace detcheck
