#pragma once

// Internal: one line of a transcript file (reports/schema/transcript-1.schema.json).

#include <string>
#include <string_view>

#include "reports/transcript.h"

namespace detcheck {

/// Header and record as JSON, without the newline.
std::string TranscriptHeaderLine(const std::string& plan_digest, const std::string& identity);
std::string TranscriptRecordLine(const StepRecord& record);

/// Back. `file` names the file and the line in messages.
void ReadTranscriptHeader(std::string_view line, const std::string& file, Transcript* transcript);
StepRecord ReadTranscriptRecord(std::string_view line, const std::string& file);

}  // namespace detcheck
