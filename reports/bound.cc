#include "reports/bound.h"

#include <fmt/format.h>

#include <cmath>

namespace detcheck {

double UpperBound95(int n) {
  return n >= 1 ? 1.0 - std::pow(0.05, 1.0 / n) : 1.0;
}

std::string PercentInWords(double share) {
  const double percent = 100.0 * share;
  if (percent >= 0.95) return fmt::format("{:.1f} %", percent);
  if (percent >= 0.095) return fmt::format("{:.2f} %", percent);
  return fmt::format("{:.1g} %", percent);
}

std::string BoundInWords(int n, int num_launches, const BoundUnit& unit) {
  if (n < 1) return "no batch counts: nothing is known";
  std::string words =
      fmt::format("up to {} of such {} could still diverge (95 % confidence, {} {})",
                  PercentInWords(UpperBound95(n)), unit.such, n, n == 1 ? unit.one : unit.many);
  if (num_launches == 1) words += "; says nothing about other starts of the server";
  return words;
}

}  // namespace detcheck
