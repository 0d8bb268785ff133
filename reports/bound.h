#pragma once

#include <string>

namespace detcheck {

/// 1 - 0.05^(1/n), n >= 1: with zero events in n independent trials the event's rate is below this
/// with 95 % confidence (Hanley and Lippman-Hand, JAMA 249, 1983). 1 for n = 0.
double UpperBound95(int n);

/// A share in per cent as people write it: "5.8 %", "0.60 %".
std::string PercentInWords(double share);

/// What is counted, in words.
struct BoundUnit {
  const char* such = "batches";
  const char* one = "distinct batch";
  const char* many = "distinct batches";
};

/// What zero divergences in `n` of the unit say: "up to 5.8 % of such batches could still diverge
/// (95 % confidence, 50 distinct batches)". With one start of the target: "; says nothing about
/// other starts of the server".
std::string BoundInWords(int n, int num_launches, const BoundUnit& unit = {});

}  // namespace detcheck
