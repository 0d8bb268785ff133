#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/base/request.h"
#include "engine/tokenizer/tokenizer.h"

namespace detcheck {

/// Text that stands for token IDs.
struct PromptText {
  std::string text;
  std::string why_not;  ///< Why there is none; empty where `text` holds.
};

/// Prompts as text, for servers that take no token IDs: only where the tokenizer makes the same IDs
/// of the text again, and the server, where it can be asked, does too.
class PromptTexts {
 public:
  /// The IDs that the server makes of a text. May throw Error(kInput) for a text that it refuses.
  using AskServer = std::function<std::vector<TokenId>(const std::string& text)>;

  /// By the tokenizer of `file`, a tokenizer.json, of which servers add `added` to the front of
  /// every text. `ask` may be empty; where it is not, it says what the server adds. Throws the
  /// errors of Tokenizer::Read, and Error(kUnsupported) where the server's tokenizer is another.
  PromptTexts(const std::string& file, std::vector<TokenId> added, AskServer ask);

  /// Each prompt is looked at once. Valid as long as this.
  const PromptText& TextOf(const std::vector<TokenId>& ids);

  /// A prompt of `len` tokens that has a text; another `start`, another prompt. Throws
  /// Error(kUnsupported) where there is none.
  std::vector<TokenId> SomePrompt(int start, int len);

  int vocab_size() const { return tokenizer_.vocab_size(); }
  /// SHA-256 of the file, in hex.
  const std::string& file_sha256() const { return file_sha256_; }

 private:
  void LearnWhatIsAdded();
  PromptText Make(const std::vector<TokenId>& ids) const;

  Tokenizer tokenizer_;
  std::string file_sha256_;
  std::vector<TokenId> added_;
  AskServer ask_;
  std::map<std::vector<TokenId>, PromptText> known_;
};

}  // namespace detcheck
