// Makes a golden report of one that a run wrote: write_baseline REPORT GOLDEN. What tells of the
// machine and the checkout is dropped: it bears on nothing in deterministic mode.

#include <array>
#include <string_view>

#include "reports/report.h"

namespace {

constexpr std::array<std::string_view, 14> kDropped = {"detcheck.git_revision",
                                                       "detcheck.git_dirty",
                                                       "os",
                                                       "kernel",
                                                       "machine",
                                                       "cpu.model",
                                                       "cpu.count",
                                                       "cpu.flags",
                                                       "library.loaded",
                                                       "libc",
                                                       "compiler",
                                                       "device.cpu_model",
                                                       "device.simd_level",
                                                       "device.threads"};

void Drop(detcheck::Manifest* manifest) {
  std::erase_if(*manifest, [](const detcheck::ManifestField& field) {
    return field.name.starts_with("env.");
  });
  for (detcheck::ManifestField& field : *manifest) {
    for (const std::string_view name : kDropped) {
      if (field.name == name) field = {field.name, "", detcheck::FieldSource::kUnknown};
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  detcheck::Report report = detcheck::ReadReport(argv[1]);
  report.run = {};
  Drop(&report.harness);
  Drop(&report.subject);
  detcheck::JudgeReport(&report);  // The scope names the machine, too.
  for (detcheck::StepRecord& record : report.transcript.records) {
    record.started_s = record.ended_s = 0.0;
    for (detcheck::Completion& answer : record.completions) answer.times = {};
  }
  detcheck::WriteReport(report, argv[2]);
  return 0;
}
