#include "engine/tokenizer/tokenizer.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>
#include <utility>

#include "engine/base/error.h"
#include "engine/tokenizer/byte_level.h"
#include "engine/tokenizer/tokenizer_json.h"
#include "engine/tokenizer/unicode.h"
#include "engine/tokenizer/utf8.h"

namespace detcheck {
namespace {

std::string ReadWhole(const std::string& path) {
  std::error_code error;
  const uintmax_t num_bytes = std::filesystem::file_size(path, error);
  std::ifstream stream(path, std::ios::binary);
  if (error || !stream) throw Error(ErrorCode::kInput, path + ": cannot be read");
  std::string text(num_bytes, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(num_bytes));
  if (!stream) throw Error(ErrorCode::kInput, path + ": cannot be read");
  return text;
}

/// Those that are looked for in the text as it is, or in the normalized text.
std::vector<AddedToken> Choose(const std::vector<AddedToken>& tokens, bool normalized, bool nfc) {
  std::vector<AddedToken> chosen;
  for (const AddedToken& token : tokens) {
    if (token.normalized != normalized) continue;
    chosen.push_back(token);
    if (normalized && nfc) chosen.back().content = ToNfc(token.content);
  }
  return chosen;
}

}  // namespace

Tokenizer::Tokenizer(const TokenizerSpec& spec)
    : nfc_(spec.nfc),
      ids_before_(spec.ids_before),
      ids_after_(spec.ids_after),
      added_(Choose(spec.added_tokens, false, spec.nfc)),
      normalized_added_(Choose(spec.added_tokens, true, spec.nfc)),
      pre_tokenizer_(spec.splits),
      bpe_(spec.bpe) {
  AddTokens(spec);
}

std::string Tokenizer::FileOf(const std::string& dir_or_file) {
  std::error_code ignored;
  const std::filesystem::path path(dir_or_file);
  return std::filesystem::is_directory(path, ignored) ? (path / "tokenizer.json").string()
                                                      : dir_or_file;
}

Tokenizer Tokenizer::Read(const std::string& path) {
  return Tokenizer(ParseTokenizerJson(ReadWhole(path), path));
}

void Tokenizer::AddTokens(const TokenizerSpec& spec) {
  for (const auto& [token, id] : spec.bpe.vocab) TokenAt(id).bytes = DecodedBytes(token);
  for (const AddedToken& token : spec.added_tokens) {
    const std::string text = token.normalized ? Normalized(token.content) : token.content;
    TokenAt(token.id) = {.bytes = DecodedBytes(text), .is_special = token.special};
  }
}

Tokenizer::Token& Tokenizer::TokenAt(TokenId id) {
  const auto index = static_cast<size_t>(id);
  if (index >= tokens_.size()) tokens_.resize(index + 1);
  return tokens_[index];
}

std::string Tokenizer::Normalized(std::string_view text) const {
  return nfc_ ? ToNfc(text) : std::string(text);
}

std::vector<TokenId> Tokenizer::Encode(std::string_view text, AddSpecial add) const {
  if (const size_t at = FindInvalidUtf8(text); at != text.npos) {
    throw Error(ErrorCode::kInput, "byte " + std::to_string(at) + ": not UTF-8");
  }
  std::vector<TokenId> ids;
  if (add == AddSpecial::kYes) ids = ids_before_;
  PieceSplitter splitter(pre_tokenizer_);
  BpeEncoder encoder(bpe_);
  for (const AddedTokenPart& part : added_.Split(text)) {
    if (part.id != AddedTokenPart::kText) {
      ids.push_back(part.id);
      continue;
    }
    const std::string normalized = Normalized(part.text);
    for (const AddedTokenPart& inner : normalized_added_.Split(normalized)) {
      if (inner.id != AddedTokenPart::kText) {
        ids.push_back(inner.id);
        continue;
      }
      for (const std::string_view piece : splitter.Split(inner.text)) encoder.Append(piece, &ids);
    }
  }
  if (add == AddSpecial::kYes) ids.insert(ids.end(), ids_after_.begin(), ids_after_.end());
  return ids;
}

std::string_view Tokenizer::BytesOf(TokenId id, SpecialText special) const {
  if (id < 0 || id >= vocab_size()) return {};
  const Token& token = tokens_[static_cast<size_t>(id)];
  if (special == SpecialText::kLeaveOut && token.is_special) return {};
  return token.bytes;
}

std::string Tokenizer::Decode(std::span<const TokenId> ids, SpecialText special) const {
  std::string bytes;
  for (const TokenId id : ids) bytes += BytesOf(id, special);
  return bytes;
}

std::string TextStream::Push(TokenId id) {
  held_ += tokenizer_.BytesOf(id, special_);
  const size_t num_held = UnfinishedUtf8Len(held_);
  std::string ready = held_.substr(0, held_.size() - num_held);
  held_.erase(0, ready.size());
  return ready;
}

std::string TextStream::Finish() {
  return std::exchange(held_, {});
}

}  // namespace detcheck
