#include "cli/run_files.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/print.h"
#include "engine/base/error.h"
#include "fixtures/file_io.h"

namespace detcheck {
namespace {

namespace fs = std::filesystem;

bool HasRecords(const std::string& path) {
  try {
    return !ReadTranscript(path).records.empty();
  } catch (const Error&) {
    return true;  // not ours to judge
  }
}

}  // namespace

RunFiles::RunFiles(const std::string& report) : report_(report) {
  std::error_code ignored;
  if (report.empty()) return;
  if (fs::is_directory(report, ignored)) {
    throw Error(ErrorCode::kUsage, fmt::format("--report {}: is a directory", OneLine(report)));
  }
  const fs::path folder = fs::path(report).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, ignored)) {
    throw Error(ErrorCode::kUsage, fmt::format("--report {}: no such directory", OneLine(report)));
  }
  // A pipe or a terminal has no neighbour file.
  const bool is_special = fs::exists(report, ignored) && !fs::is_regular_file(report, ignored);
  if (!is_special) transcript_ = report + ".transcript.jsonl";
}

RunFiles::~RunFiles() {
  if (!began_here_) return;
  writer_.reset();
  std::error_code ignored;
  if (fs::exists(transcript_, ignored) && !HasRecords(transcript_)) {
    fs::remove(transcript_, ignored);
  }
}

bool RunFiles::HasEarlierRun() const {
  std::error_code ignored;
  return !transcript_.empty() && fs::exists(transcript_, ignored);
}

void RunFiles::Begin(const std::string& plan_digest, const std::string& identity) {
  if (transcript_.empty()) return;
  if (HasEarlierRun()) {
    throw Error(ErrorCode::kInput,
                fmt::format("{}: holds an unfinished run; go on with --resume, or remove it",
                            OneLine(transcript_)));
  }
  writer_ = std::make_unique<TranscriptWriter>(transcript_, plan_digest, identity, false);
  began_here_ = true;
}

void RunFiles::Continue(const Transcript& kept) {
  const std::string rewritten = transcript_ + ".new";
  writer_ = std::make_unique<TranscriptWriter>(rewritten, kept.plan_digest, kept.identity, false);
  for (const StepRecord& record : kept.records) writer_->Append(record);
  fs::rename(rewritten, transcript_);  // the writer goes on in the file, whatever its name
}

bool RunFiles::End(const Report& report, bool keep_transcript) {
  if (report_.empty()) return true;
  try {
    WriteReport(report, report_);
  } catch (const Error& error) {
    PrintNote(fmt::format(
        "detcheck: {}{}\n", error.what(),
        writer_ ? "; the same command with --resume writes it, of " + OneLine(transcript_) : ""));
    return false;
  }
  writer_.reset();
  if (transcript_.empty() || keep_transcript) return true;
  std::error_code ignored;
  fs::remove(transcript_, ignored);
  return true;
}

}  // namespace detcheck
