#pragma once

#include <atomic>
#include <vector>

#include "engine/backend.h"
#include "engine/base/request.h"
#include "engine/embedded/scheduler.h"

namespace detcheck {

/// Runs one batch to its end on a scheduler that has nothing else: each item is added when its
/// release is due, which is looked at before each engine step (equally due items in item order).
/// Engine steps in which nothing could run are skipped. `stop` and `on_token` are
/// Backend::Complete's. Throws what the model throws.
BatchResult RunBatch(Scheduler* scheduler, const std::vector<BatchItem>& items,
                     const std::atomic<bool>& stop, const TokenCallback& on_token);

}  // namespace detcheck
