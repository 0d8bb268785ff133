// Writes two large reports of one prompt: write_large_reports A B. Prints the seconds that writing
// each to its file took.

#include <chrono>
#include <cstdio>

#include "tests/reports/distinct_outputs.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  for (int i = 1; i <= 2; ++i) {
    const detcheck::Report report = detcheck::DistinctOutputsReport(static_cast<uint64_t>(i));
    const auto began = std::chrono::steady_clock::now();
    detcheck::WriteReport(report, argv[i]);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - began;
    std::printf("%.3f\n", elapsed.count());
  }
  return 0;
}
