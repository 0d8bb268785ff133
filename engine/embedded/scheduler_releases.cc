#include "engine/embedded/scheduler_releases.h"

#include <algorithm>

namespace detcheck {

SchedulerReleases::SchedulerReleases(const std::vector<BatchItem>& items)
    : items_(items), states_(items.size()) {}

std::vector<int> SchedulerReleases::TakeDue(int64_t step) {
  std::vector<int> due;
  for (size_t i = 0; i < items_.size(); ++i) {
    if (states_[i].given || !Due(items_[i].release, step)) continue;
    states_[i].given = true;
    due.push_back(static_cast<int>(i));
  }
  return due;
}

std::vector<int> SchedulerReleases::TakeRest() {
  std::vector<int> rest;
  for (size_t i = 0; i < items_.size(); ++i) {
    if (!states_[i].given) rest.push_back(static_cast<int>(i));
    states_[i].given = true;
  }
  return rest;
}

std::optional<int64_t> SchedulerReleases::NextStep() const {
  std::optional<int64_t> next;
  for (size_t i = 0; i < items_.size(); ++i) {
    const Release& release = items_[i].release;
    if (states_[i].given || release.kind != Release::Kind::kAtEngineStep) continue;
    next = std::min<int64_t>(next.value_or(release.count), release.count);
  }
  return next;
}

bool SchedulerReleases::Due(const Release& release, int64_t step) const {
  switch (release.kind) {
    case Release::Kind::kAtOnce:
      return true;
    case Release::Kind::kAfterTokens: {
      if (release.item < 0 || release.item >= static_cast<int>(states_.size())) return false;
      const State& other = states_[release.item];
      return other.ended || other.num_tokens >= release.count;
    }
    case Release::Kind::kAtEngineStep:
      return step >= release.count;
  }
  return false;
}

}  // namespace detcheck
