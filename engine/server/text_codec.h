#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/request.h"
#include "engine/embedded/model_config.h"

namespace detcheck {

/// Text and token IDs of the model that is served. Threads may share it.
class TextCodec {
 public:
  virtual ~TextCodec() = default;

  /// IDs of `text`; with `add_special`, the special tokens that the model puts around a text too.
  /// Throws Error(kInput) for a text that has none.
  virtual std::vector<TokenId> Encode(std::string_view text, bool add_special) const = 0;

  /// The bytes of one token, which need not be UTF-8: a token may be part of a character. With
  /// `skip_special` special tokens have none.
  virtual std::string BytesOf(TokenId id, bool skip_special) const = 0;

  std::string BytesOf(std::span<const TokenId> ids, bool skip_special) const;
};

/// The codec of a synthetic model, by its table of strings (engine/embedded/synthetic_text.h):
/// exactly the texts that the table's strings make have IDs. Of the two IDs that read alike, the
/// lower one is given.
std::unique_ptr<TextCodec> MakeSyntheticCodec(int vocab_size);

/// The codec of the model that `model` names as EngineOptions::model does: synthetic, by its
/// tokenizer.json, or null where the folder has none. Throws the errors of Tokenizer::Read.
std::unique_ptr<TextCodec> MakeTextCodec(const std::string& model, const ModelConfig& config);

/// UTF-8 of `bytes`, with U+FFFD for what is none. Unless they are `complete`, a beginning of a
/// character at the end is left out, so that the text of more bytes begins with that of fewer.
std::string PrintableText(std::string_view bytes, bool complete);

}  // namespace detcheck
