// Writes one report for each verdict: write_verdict_reports FOLDER.

#include <string>

#include "reports/report.h"
#include "tests/reports/verdict_reports.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (const auto& [name, report] : detcheck::VerdictReports()) {
    detcheck::WriteReport(report, std::string(argv[1]) + '/' + name + ".json");
  }
  return 0;
}
