#include "reports/control.h"

#include <algorithm>
#include <map>

namespace detcheck {
namespace {

// Solo samples of the control arm, by what the cache held for them. Where the target cannot run
// cold (kAny) the control samples are the nearest thing.
void GatherControl(const std::vector<Sample>& samples, ControlArm* control) {
  for (size_t i = 0; i < samples.size(); ++i) {
    const Sample& sample = samples[i];
    if (!sample.counts || !sample.IsControl() || !sample.IsSolo() || sample.IsPrefix()) continue;
    const CacheState cache = sample.step->cache;
    const bool cold = cache == CacheState::kCold ||
                      (cache == CacheState::kAny && sample.step->arm != Arm::kControlWarm);
    (cold ? control->cold : control->warm).push_back(static_cast<int>(i));
  }
}

class Agreement {
 public:
  Agreement(const Likeness& likeness, CriterionKind criterion)
      : likeness_(likeness), criterion_(criterion) {}

  bool Of(std::vector<int>::const_iterator begin, std::vector<int>::const_iterator end) const {
    for (auto a = begin; a != end; ++a) {
      for (auto b = a + 1; b != end; ++b) {
        if (!likeness_.Same(*a, *b, criterion_)) return false;
      }
    }
    return true;
  }
  bool Of(const std::vector<int>& samples) const { return Of(samples.begin(), samples.end()); }

 private:
  const Likeness& likeness_;
  const CriterionKind criterion_;
};

bool AgreeWithinLaunches(const std::vector<Sample>& samples, const std::vector<int>& cold,
                         const Agreement& agree) {
  std::map<int, std::vector<int>> by_launch;
  for (const int i : cold) by_launch[samples[i].record->launch].push_back(i);
  return by_launch.size() > 1 && std::all_of(by_launch.begin(), by_launch.end(),
                                             [&](const auto& l) { return agree.Of(l.second); });
}

int FirstWhole(const std::vector<Sample>& samples) {
  for (size_t i = 0; i < samples.size(); ++i) {
    if (!samples[i].IsPrefix()) return static_cast<int>(i);
  }
  return samples.empty() ? -1 : 0;
}

}  // namespace

ControlArm ReadControlArm(const std::vector<Sample>& samples, const Likeness& likeness,
                          CriterionKind criterion) {
  ControlArm control;
  GatherControl(samples, &control);
  const std::vector<int>& cold = control.cold;
  if (cold.empty()) {
    control.reference = control.warm.empty() ? FirstWhole(samples) : control.warm.front();
    return control;
  }
  const Agreement agree(likeness, criterion);
  const bool can_be_cold = samples[cold.front()].step->cache == CacheState::kCold;
  control.reference = can_be_cold || cold.size() == 1 ? cold[0] : cold[1];
  if (!agree.Of(cold)) {
    control.by_launch = AgreeWithinLaunches(samples, cold, agree);
    if (!control.by_launch && cold.size() >= 3 && agree.Of(cold.begin() + 1, cold.end())) {
      control.first_run_only = true;
      control.reference = cold[1];
    } else {
      control.not_repeatable = true;
    }
    return control;
  }
  control.warm_differs = !control.warm.empty() && agree.Of(control.warm) &&
                         !likeness.Same(cold[0], control.warm[0], criterion);
  return control;
}

}  // namespace detcheck
