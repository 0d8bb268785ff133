#pragma once

// Internal: the parts of a step record that transcripts and reports write alike. Included only from
// .cc files that read or write a format.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/request.h"
#include "fixtures/json_reader.h"
#include "fixtures/words.h"
#include "reports/json_text.h"
#include "reports/text_findings.h"

namespace detcheck {

inline constexpr std::pair<FinishReason, std::string_view> kFinishReasonWordList[] = {
    {FinishReason::kLength, "length"},
    {FinishReason::kStop, "stop"},
    {FinishReason::kAbort, "abort"},
    {FinishReason::kError, "error"},
};
inline constexpr WordTable<FinishReason> kFinishReasonWords = kFinishReasonWordList;

inline constexpr std::pair<WitnessSource, std::string_view> kWitnessSourceWordList[] = {
    {WitnessSource::kNone, "none"},
    {WitnessSource::kClientOverlap, "client_overlap"},
    {WitnessSource::kServer, "server"},
    {WitnessSource::kEngine, "engine"},
};
inline constexpr WordTable<WitnessSource> kWitnessSourceWords = kWitnessSourceWordList;

inline constexpr std::pair<Validity, std::string_view> kValidityWordList[] = {
    {Validity::kValid, "valid"},
    {Validity::kInvalid, "invalid"},
    {Validity::kUnknown, "unknown"},
};
inline constexpr WordTable<Validity> kValidityWords = kValidityWordList;

/// {"cached_tokens", "chunk_ends", "formed_size", …, "source"}; absent where not known.
void WriteWitness(const Witness& witness, JsonText* json);
Witness ReadWitness(const JsonValue& value);

/// [{"first_step": 0, "num_steps": 3, "rows": [[item, num_tokens, decode], …]}, …]
void WriteEngineSteps(const std::vector<EngineStepSpan>& spans, JsonText* json);
std::vector<EngineStepSpan> ReadEngineSteps(const JsonValue& value);

/// [sent, first token, last token], seconds since the step began.
void WriteTimes(const CompletionTimes& times, JsonText* json);
CompletionTimes ReadTimes(const JsonValue& value);

/// A field `name`: the text, or {"base64": "…"} where the target's bytes are not UTF-8.
void WriteText(std::string_view name, std::string_view text, JsonText* json);
std::string ReadText(const JsonValue& value);

/// A list of such texts.
void WriteTextList(std::string_view name, const std::vector<std::string>& texts, JsonText* json);
std::vector<std::string> ReadTextList(const JsonValue& value);

/// Fields that may be absent.
std::optional<int> OptionalIntOf(const JsonValue& value, std::string_view field);
std::optional<std::string> OptionalTextOf(const JsonValue& value, std::string_view field);

}  // namespace detcheck
