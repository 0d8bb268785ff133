#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fixtures/plan.h"
#include "reports/report.h"
#include "reports/transcript.h"

namespace detcheck {

/// The files that a run writes: the report, at the end, and beside it the transcript, as answers
/// come. Where no report is wanted there are none.
class RunFiles {
 public:
  /// `report` may be empty.
  explicit RunFiles(const std::string& report);
  /// Removes a transcript without a record.
  ~RunFiles();
  RunFiles(const RunFiles&) = delete;
  RunFiles& operator=(const RunFiles&) = delete;

  bool HasEarlierRun() const;

  /// Throws Error(kInput) where a report could not be written there, or an earlier run would be
  /// lost.
  void Begin(const std::string& plan_digest, const std::string& identity);
  /// Goes on after `kept`, the earlier run's records.
  void Continue(const Transcript& kept);
  TranscriptWriter* writer() { return writer_.get(); }

  /// Writes the report. Then removes the transcript, unless the run can be gone on with. Where the
  /// report cannot be written it says so, and keeps the transcript: false.
  bool End(const Report& report, bool keep_transcript);

  /// What an earlier run left. Throws Error(kInput) where that is no transcript.
  Transcript EarlierRun() const { return ReadTranscript(transcript_); }

  const std::string& transcript_path() const { return transcript_; }

 private:
  std::string report_;
  std::string transcript_;  // empty: none is kept
  std::unique_ptr<TranscriptWriter> writer_;
  bool began_here_ = false;
};

}  // namespace detcheck
