#include "engine/server/text_codec.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/embedded/synthetic_text.h"
#include "engine/tokenizer/tokenizer.h"
#include "engine/tokenizer/utf8.h"

namespace detcheck {
namespace {

class SyntheticCodec : public TextCodec {
 public:
  explicit SyntheticCodec(int vocab_size) : vocab_size_(vocab_size) {}

  std::vector<TokenId> Encode(std::string_view text, bool /*add_special*/) const override {
    std::vector<TokenId> ids;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find(' ', at + 1), text.size());
      const std::optional<TokenId> id = SyntheticTokenOf(text.substr(at, end - at));
      if (!id || *id >= vocab_size_) {
        throw Error(ErrorCode::kInput, "byte " + std::to_string(at) +
                                           " of the text: the model is synthetic, and no "
                                           "token of its table has this text; give token IDs");
      }
      ids.push_back(*id);
      at = end;
    }
    return ids;
  }

  std::string BytesOf(TokenId id, bool /*skip_special*/) const override {
    return SyntheticTokenText(id);
  }

 private:
  int vocab_size_;
};

class TokenizerCodec : public TextCodec {
 public:
  explicit TokenizerCodec(const std::string& path) : tokenizer_(Tokenizer::Read(path)) {}

  std::vector<TokenId> Encode(std::string_view text, bool add_special) const override {
    return tokenizer_.Encode(
        text, add_special ? Tokenizer::AddSpecial::kYes : Tokenizer::AddSpecial::kNo);
  }

  std::string BytesOf(TokenId id, bool skip_special) const override {
    return std::string(tokenizer_.BytesOf(
        id, skip_special ? Tokenizer::SpecialText::kLeaveOut : Tokenizer::SpecialText::kKeep));
  }

 private:
  Tokenizer tokenizer_;
};

/// Whether `bytes` (not empty) are the beginning of a character and no more.
bool MayBecomeCharacter(std::string_view bytes) {
  return UnfinishedUtf8Len(bytes) == bytes.size();
}

}  // namespace

std::string TextCodec::BytesOf(std::span<const TokenId> ids, bool skip_special) const {
  std::string bytes;
  for (const TokenId id : ids) bytes += BytesOf(id, skip_special);
  return bytes;
}

std::unique_ptr<TextCodec> MakeSyntheticCodec(int vocab_size) {
  return std::make_unique<SyntheticCodec>(vocab_size);
}

std::unique_ptr<TextCodec> MakeTextCodec(const std::string& model, const ModelConfig& config) {
  if (model.starts_with("synthetic:")) return MakeSyntheticCodec(config.vocab_size);
  const auto path = std::filesystem::path(model) / "tokenizer.json";
  if (!std::filesystem::exists(path)) return nullptr;
  return std::make_unique<TokenizerCodec>(path.string());
}

std::string PrintableText(std::string_view bytes, bool complete) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  std::string text;
  for (size_t at = 0; at < bytes.size();) {
    const std::string_view rest = bytes.substr(at);
    if (const size_t len = Utf8SequenceLen(rest)) {
      text += rest.substr(0, len);
      at += len;
      continue;
    }
    if (MayBecomeCharacter(rest)) {  // Cut short by the end of the bytes.
      if (complete) text += kReplacement;
      break;
    }
    // One replacement for the longest beginning of a character, as Unicode advises.
    size_t bad = 1;
    while (bad + 1 < rest.size() && MayBecomeCharacter(rest.substr(0, bad + 1))) ++bad;
    text += kReplacement;
    at += bad;
  }
  return text;
}

}  // namespace detcheck
