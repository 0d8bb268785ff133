#include "cli/color.h"

#include <unistd.h>

#include <cstdlib>

namespace detcheck {

bool WantsColor(ColorWish wish) {
  if (wish != ColorWish::kAuto) return wish == ColorWish::kAlways;
  return isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
}

}  // namespace detcheck
