#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/request.h"
#include "fixtures/plan.h"

namespace detcheck {

/// What one attempt at one step gave. A step that was voided is attempted again; every attempt is
/// kept.
struct StepRecord {
  int step = 0;     ///< Index into Plan::steps.
  int attempt = 0;  ///< 0-based.
  int launch = 0;   ///< Which start of the target answered (0: the first in this transcript).
  int replica = 0;  ///< Which of several replicas answered; records of one stand together.
  /// Absent where the attempt counts; else why it does not ("missed witness: …", "503 …"). Decided
  /// without looking at outputs.
  std::optional<std::string> voided;
  std::optional<std::string> error;          ///< The target failed; there may be no completions.
  std::vector<Completion> completions;       ///< kBatch: in item order.
  std::vector<std::string> prompt_digests;   ///< kBatch: of each item's resolved prompt.
  std::vector<EngineStepSpan> engine_steps;  ///< kBatch, where known.
  std::vector<TokenLogprob> scores;          ///< kScore.
  bool flush_accepted = false;               ///< kFlush.
  std::string detail;                        ///< Words of the target (flush refused, …).
  double started_s = 0.0;                    ///< Seconds since the run began.
  double ended_s = 0.0;
};

/// All that was answered, in the order in which it was.
struct Transcript {
  std::string plan_digest;
  /// Digest of the subject's identity set, as read before the first step; of several replicas as
  /// JoinIdentities (reports/replica.h) writes them.
  std::string identity;
  std::vector<StepRecord> records;
  bool complete = false;  ///< Every step was run to its end.
  /// Why not every step was run ("interrupted", "budget of 60 s spent", "target lost: …"); empty
  /// where complete.
  std::string ended_early;
  /// Digest of the identity set as read again after the last step; empty where it could not be
  /// read. One that differs from `identity` makes the run inconclusive.
  std::string identity_after;
};

/// Appends records to a JSON-lines file as they come, each flushed to the file when it returns.
/// The first line is a header {plan digest, identity}. Throws Error(kInput) where the file cannot
/// be written.
class TranscriptWriter {
 public:
  /// Starts a new file, or with `resume` appends to one that ReadTranscript has accepted.
  TranscriptWriter(const std::string& path, const std::string& plan_digest,
                   const std::string& identity, bool resume);
  ~TranscriptWriter();
  TranscriptWriter(const TranscriptWriter&) = delete;
  TranscriptWriter& operator=(const TranscriptWriter&) = delete;

  void Append(const StepRecord& record);

 private:
  std::string path_;
  int fd_ = -1;
};

/// Reads a transcript; a torn last line is dropped (and cut from the file by a resuming writer).
/// `complete` stays false: the file does not say. Throws Error(kInput): "FILE: line N: fact".
Transcript ReadTranscript(const std::string& path);

/// Why a record cannot be of the plan: no such step, or more answers or prompts than the step has
/// items. Empty where it can.
std::string RecordFault(const Plan& plan, const StepRecord& record);

/// Where a resumed run must begin again: the last step at or before the first unfinished one that
/// needs nothing of what the steps before it left in the cache (a mode's first step, a flush, a
/// restart, or a cold step that bypasses the cache, as do all up to the next flush). Drops the
/// records from its first one on, and returns the step; the number of steps where all are finished.
int RewindForResume(const Plan& plan, Transcript* transcript);

}  // namespace detcheck
