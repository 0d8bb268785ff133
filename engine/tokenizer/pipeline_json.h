#pragma once

// Internal: the steps of a tokenizer.json beside its model and added tokens.

#include <vector>

#include "engine/tokenizer/json_value.h"
#include "engine/tokenizer/tokenizer_spec.h"

namespace detcheck {

// All throw Error(kInput) for a step that is not supported.

/// Whether text is brought to normal form C: "NFC", or a "Sequence" of it.
bool ReadNormalizer(const JsonPlace& normalizer);

/// "Split", "Digits" and "ByteLevel", which must come last and must be there.
std::vector<SplitStep> ReadPreTokenizer(const JsonPlace& pre_tokenizer);

/// "ByteLevel" and "TemplateProcessing" of one text: which special tokens go before and after it.
void ReadPostProcessor(const JsonPlace& post_processor, TokenizerSpec* spec);

/// Refuses any but "ByteLevel".
void CheckDecoder(const JsonPlace& decoder);

}  // namespace detcheck
