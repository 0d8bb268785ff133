// Writes the pages that html_browser_test.py looks at: write_html_fixture FOLDER. With the file of
// a report after it, the page of that report: write_html_fixture PAGE REPORT.

#include <string>

#include "fixtures/file_io.h"
#include "reports/html.h"
#include "tests/reports/html_fixture.h"
#include "tests/reports/rich_report.h"

int main(int argc, char** argv) {
  if (argc == 3) {
    detcheck::WriteFileAtomically(argv[1], detcheck::RenderHtml(detcheck::ReadReport(argv[2])));
    return 0;
  }
  if (argc != 2) return 2;
  const std::string folder = argv[1];
  const auto write = [&](const std::string& name, const detcheck::Report& report) {
    detcheck::WriteFileAtomically(folder + "/" + name + ".html", detcheck::RenderHtml(report));
  };
  write("pass", detcheck::ReportOf(detcheck::SteadyRun(detcheck::Says({1, 2, 3, 4, 5, 6}))));
  write("diverging", detcheck::DivergingReport());
  write("rich", detcheck::RichReport());
  write("hostile", detcheck::HostileReport());
  write("large", detcheck::LargeReport(10000));
  write("many_outputs", detcheck::ManyOutputsReport(2000));
  return 0;
}
