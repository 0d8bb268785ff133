#include <algorithm>
#include <vector>

#include "fixtures/shard.h"
#include "reports/evidence.h"
#include "reports/transcript.h"

namespace detcheck {
namespace {

// Needs nothing of what came before.
bool BeginsAfresh(const Plan& plan, int step) {
  if (step == 0 || plan.steps[step - 1].mode != plan.steps[step].mode) return true;
  return plan.steps[step].kind == StepKind::kFlush || plan.steps[step].kind == StepKind::kRestart;
}

bool BypassesCache(const Step& step) {
  return step.kind == StepKind::kBatch && step.cache == CacheState::kCold &&
         std::all_of(step.items.begin(), step.items.end(),
                     [](const PlannedItem& item) { return item.cache == CacheWish::kBypass; });
}

// A later step may use what an earlier one left in the cache; where none up to the next fresh
// beginning reads the cache, any of them can be first.
bool CanBegin(const Plan& plan, int step) {
  if (BeginsAfresh(plan, step)) return true;
  const int num_steps = static_cast<int>(plan.steps.size());
  for (int i = step; i < num_steps && (i == step || !BeginsAfresh(plan, i)); ++i) {
    if (plan.steps[i].kind == StepKind::kWait) continue;
    if (!BypassesCache(plan.steps[i])) return false;
  }
  return true;
}

bool IsDone(const Plan& plan, const StepRecord& record) {
  return Counts(plan.steps[record.step], record);
}

// The first step that was not run to its end. A step whose attempts all failed has ended when a
// later one was begun.
int FirstUnfinished(const Plan& plan, const Transcript& transcript) {
  int last = -1;
  bool done = true;
  for (const StepRecord& record : transcript.records) {
    if (record.step < last) continue;
    done = IsDone(plan, record) || (record.step == last && done);
    last = record.step;
  }
  return done ? last + 1 : last;
}

size_t FirstRecordFrom(const Transcript& transcript, int step) {
  const auto& records = transcript.records;
  const auto it = std::find_if(records.begin(), records.end(),
                               [&](const StepRecord& record) { return record.step >= step; });
  return static_cast<size_t>(it - records.begin());
}

// A step before `end` that is to be run, without any of the first `num_records` records; -1: there
// is none.
int FirstMissing(const Plan& plan, const Transcript& transcript, size_t num_records, int end) {
  std::vector<bool> has_record(static_cast<size_t>(end), true);
  for (const int step : StepsToRun(plan)) {
    if (step < end) has_record[step] = false;
  }
  for (size_t i = 0; i < num_records; ++i) {
    const int step = transcript.records[i].step;
    if (step < end) has_record[step] = true;
  }
  const auto it = std::find(has_record.begin(), has_record.end(), false);
  return it == has_record.end() ? -1 : static_cast<int>(it - has_record.begin());
}

}  // namespace

int RewindForResume(const Plan& plan, Transcript* transcript) {
  const int num_steps = static_cast<int>(plan.steps.size());
  std::erase_if(transcript->records,
                [&](const StepRecord& record) { return record.step >= num_steps; });
  const std::vector<bool> is_to_run = IsToRun(plan);
  int step = FirstUnfinished(plan, *transcript);
  while (step < num_steps && !is_to_run[step]) ++step;
  while (true) {
    while (step > 0 && step < num_steps && !CanBegin(plan, step)) --step;
    const size_t num_kept = FirstRecordFrom(*transcript, step);
    const int missing = FirstMissing(plan, *transcript, num_kept, step);
    if (missing < 0) {
      transcript->records.resize(num_kept);
      return step;
    }
    step = missing;
  }
}

}  // namespace detcheck
