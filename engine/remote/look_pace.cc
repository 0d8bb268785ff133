#include "engine/remote/look_pace.h"

#include <algorithm>

namespace detcheck {
namespace {

constexpr double kPausesPerLook = 7.0;  // One part in eight is spent on looks.
constexpr double kShortestPause_s = 0.001;
/// A look that takes longer than an eighth of this is mostly under way in a network.
constexpr double kLongestPause_s = 0.25;

}  // namespace

void LookPace::Note(double look_s) {
  fastest_s_ = std::min(look_s, fastest_s_.value_or(look_s));
}

double LookPace::pause_s() const {
  return std::clamp(kPausesPerLook * fastest_s_.value_or(0.0), kShortestPause_s, kLongestPause_s);
}

}  // namespace detcheck
