#pragma once

#include <string>
#include <vector>

#include "reports/report.h"

namespace detcheck {

/// The report of one shard of a plan.
struct ShardReport {
  std::string file;  ///< Names it in messages.
  Report report;
};

/// The report of the whole plan, judged anew: all records, shard by shard. Each shard whose target
/// was another start (the harness starts it itself, or its process says so) has launches of its
/// own; times go on from shard to shard. Throws Error(kInput), "FILE: fact", where a report is no
/// shard, shards are of different plans, criteria, protocols or counts, one is there twice or
/// missing, or two targets are not the same one (all of the identity but the process's start).
Report MergeShards(std::vector<ShardReport> shards);

}  // namespace detcheck
