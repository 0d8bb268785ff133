// Writes reports, their plans and the lines of their transcripts, for the schema tests:
// write_reports FOLDER, with the subfolders reports, plans and lines in it.

#include <string>

#include "fixtures/file_io.h"
#include "reports/transcript_line.h"
#include "tests/reports/rich_report.h"
#include "tests/reports/text_answers.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string folder = argv[1];
  detcheck::RunBuilder by_text = detcheck::SteadyRun(detcheck::Writes({"a", "b"}));
  by_text.Batch({detcheck::Writes({"a", "b"}), detcheck::Writes({"a", "\xff"})});
  detcheck::Report text_report = detcheck::ReportOf(by_text);
  text_report.facts.capabilities.text_in = true;
  const detcheck::Report reports[] = {
      detcheck::RichReport(), detcheck::ReportOf(detcheck::SteadyRun(detcheck::Says({1, 2, 3}))),
      text_report, detcheck::ReplicaReport(detcheck::Says({1, 2, 3}), detcheck::Says({1, 2, 4}))};
  int number = 0;
  for (const detcheck::Report& report : reports) {
    const std::string name = "/" + std::to_string(++number);
    detcheck::WriteReport(report, folder + "/reports" + name + ".json");
    detcheck::WriteFileAtomically(folder + "/plans" + name + ".json",
                                  detcheck::PlanToJson(report.plan));
    detcheck::WriteFileAtomically(folder + "/lines" + name + "-header.json",
                                  detcheck::TranscriptHeaderLine("plan", "who"));
    int line = 0;
    for (const detcheck::StepRecord& record : report.transcript.records) {
      detcheck::WriteFileAtomically(
          folder + "/lines" + name + "-" + std::to_string(++line) + ".json",
          detcheck::TranscriptRecordLine(record));
    }
  }
  return 0;
}
