#pragma once

#include <atomic>

namespace detcheck {

/// Turns true at the first SIGINT or SIGTERM; a second one ends the process at once. Also makes a
/// closed pipe an error of the write rather than the end of the process, so that a run and its
/// report survive `| head`.
const std::atomic<bool>& CatchSignals();

}  // namespace detcheck
