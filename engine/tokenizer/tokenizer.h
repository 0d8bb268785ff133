#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/request.h"
#include "engine/tokenizer/added_tokens.h"
#include "engine/tokenizer/bpe.h"
#include "engine/tokenizer/pre_tokenizer.h"
#include "engine/tokenizer/tokenizer_spec.h"

namespace detcheck {

/// A byte-level BPE tokenizer (GPT-2, Llama 3, Qwen2, Qwen3, SmolLM2, …) from its tokenizer.json:
/// the same IDs and texts as the Hugging Face library gives. Never changes: threads may share it.
class Tokenizer {
 public:
  explicit Tokenizer(const TokenizerSpec& spec);
  /// The tokenizer.json of a model's directory; a file is it itself.
  static std::string FileOf(const std::string& dir_or_file);
  /// Reads a file. Throws Error(kInput), one line with file and place, for one that cannot be read,
  /// is wrong, or asks for what is not supported.
  static Tokenizer Read(const std::string& path);

  /// Whether Encode adds the special tokens that the file's post-processor puts around a text.
  enum class AddSpecial { kNo, kYes };
  /// IDs of `text`. Added tokens are found in it, special ones too. Throws Error(kInput) where it
  /// is no UTF-8: "byte 7: not UTF-8".
  std::vector<TokenId> Encode(std::string_view text, AddSpecial add = AddSpecial::kNo) const;

  /// Whether special tokens are part of decoded text, or left out as servers do by default.
  enum class SpecialText { kKeep, kLeaveOut };
  /// The bytes of `ids`, which need not be UTF-8: a token may be part of a character. IDs that are
  /// no tokens have none.
  std::string Decode(std::span<const TokenId> ids, SpecialText special) const;
  /// The bytes of one ID; valid as long as the tokenizer.
  std::string_view BytesOf(TokenId id, SpecialText special) const;

  /// One more than the highest ID.
  int vocab_size() const { return static_cast<int>(tokens_.size()); }

 private:
  struct Token {
    std::string bytes;
    bool is_special = false;
  };

  void AddTokens(const TokenizerSpec& spec);
  Token& TokenAt(TokenId id);
  std::string Normalized(std::string_view text) const;

  bool nfc_;
  std::vector<TokenId> ids_before_;
  std::vector<TokenId> ids_after_;
  AddedTokenFinder added_;             ///< In the text as it is.
  AddedTokenFinder normalized_added_;  ///< In the normalized text between those.
  PreTokenizer pre_tokenizer_;
  Bpe bpe_;
  std::vector<Token> tokens_;  ///< By ID.
};

/// Decodes one token after another: text comes out in whole characters.
class TextStream {
 public:
  /// `tokenizer` must outlive it.
  TextStream(const Tokenizer& tokenizer, Tokenizer::SpecialText special)
      : tokenizer_(tokenizer), special_(special) {}

  /// What `id` adds: all bytes so far but those at the end that are the beginning of a character
  /// and not yet the whole of it. Bytes that are no UTF-8 whatever follows come out as they are.
  std::string Push(TokenId id);
  /// The bytes that are still held back; the stream is then as new.
  std::string Finish();

 private:
  const Tokenizer& tokenizer_;
  Tokenizer::SpecialText special_;
  std::string held_;
};

}  // namespace detcheck
