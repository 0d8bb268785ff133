// Writes two large reports of one prompt: write_large_reports A B. Prints the seconds of the
// processor that writing each to its file took.

#include <cstdio>
#include <ctime>

#include "tests/reports/distinct_outputs.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  for (int i = 1; i <= 2; ++i) {
    const detcheck::Report report = detcheck::DistinctOutputsReport(static_cast<uint64_t>(i));
    const std::clock_t began = std::clock();
    detcheck::WriteReport(report, argv[i]);
    std::printf("%.3f\n", static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC);
  }
  return 0;
}
