#include "cli/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cli/runner.h"
#include "engine/base/error.h"
#include "fixtures/shard.h"

namespace detcheck {
namespace {

// Requests that the steps [begin, end) ask for subjects.
std::set<int> SubjectsOf(const Plan& plan, int begin, int end) {
  std::set<int> requests;
  for (int i = begin; i < end; ++i) {
    for (const PlannedItem& item : plan.steps[i].items) {
      if (item.subject) requests.insert(item.request);
    }
  }
  return requests;
}

bool IsControlOf(const Step& step, const std::set<int>& requests) {
  if (step.arm != Arm::kControlCold && step.arm != Arm::kControlWarm) return false;
  return std::any_of(step.items.begin(), step.items.end(),
                     [&](const PlannedItem& item) { return requests.contains(item.request); });
}

// Control steps of the mode in progress before `next`, each with the flushes and preparations just
// before it.
std::vector<int> ControlToRepeat(const Plan& plan, int next) {
  const int num_steps = static_cast<int>(plan.steps.size());
  if (next >= num_steps) return {};
  const Mode mode = plan.steps[next].mode;
  int begin = next;
  while (begin > 0 && plan.steps[begin - 1].mode == mode) --begin;
  int end = next;
  while (end < num_steps && plan.steps[end].mode == mode) ++end;
  const std::set<int> requests = SubjectsOf(plan, next, end);
  const std::vector<bool> is_to_run = IsToRun(plan);

  std::vector<int> order;
  std::vector<int> preparations;
  for (int i = begin; i < next; ++i) {
    if (!is_to_run[i]) continue;
    if (IsPreparation(plan.steps[i])) {
      preparations.push_back(i);
      continue;
    }
    if (IsControlOf(plan.steps[i], requests)) {
      order.insert(order.end(), preparations.begin(), preparations.end());
      order.push_back(i);
    }
    preparations.clear();
  }
  return order;
}

constexpr char kRunAgain[] = "interrupted; run again when the run was resumed";

// The step to go on from. Records that are to be made again stay in evidence, voided: a divergence
// must not vanish by being interrupted.
int VoidRewound(const Plan& plan, Transcript* transcript) {
  Transcript kept = *transcript;
  const auto is_void = [](const StepRecord& record) { return record.voided == kRunAgain; };
  std::erase_if(kept.records, is_void);
  const size_t num_before = kept.records.size();
  const int next = RewindForResume(plan, &kept);
  size_t num_rewound = num_before - kept.records.size();
  for (auto it = transcript->records.rbegin(); num_rewound > 0; ++it) {
    if (is_void(*it)) continue;
    if (!it->voided) it->voided = kRunAgain;
    --num_rewound;
  }
  return next;
}

}  // namespace

Resumption ResumeFrom(Transcript earlier, const std::string& path, const Plan& plan,
                      const std::string& plan_digest, const std::string& identity) {
  Resumption resumption;
  resumption.transcript = std::move(earlier);
  Transcript& transcript = resumption.transcript;
  if (transcript.plan_digest != plan_digest) {
    throw Error(
        ErrorCode::kInput,
        fmt::format("{}: line 1: of another plan ({:.12}, not {:.12}); use the same options", path,
                    transcript.plan_digest, plan_digest));
  }
  // A replica that could not be reached then, or now, is not another one.
  if (transcript.identity != identity && !transcript.identity.empty() && !identity.empty()) {
    throw Error(ErrorCode::kInput,
                fmt::format("{}: line 1: the target is not the one that answered it", path));
  }
  if (!identity.empty()) transcript.identity = identity;
  const int next = VoidRewound(plan, &transcript);
  resumption.order = ControlToRepeat(plan, next);
  for (const int step : StepsToRun(plan)) {
    if (step >= next) resumption.order.push_back(step);
  }
  return resumption;
}

}  // namespace detcheck
