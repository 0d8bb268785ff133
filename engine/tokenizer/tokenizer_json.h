#pragma once

#include <string>
#include <string_view>

#include "engine/tokenizer/tokenizer_spec.h"

namespace detcheck {

/// Reads the text of a tokenizer.json. Throws Error(kInput) for anything that is wrong or that
/// would not be done as the Hugging Face library does it: "FILE: model.byte_fallback: fact".
TokenizerSpec ParseTokenizerJson(std::string_view text, const std::string& file);

}  // namespace detcheck
