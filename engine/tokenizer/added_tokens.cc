#include "engine/tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "engine/tokenizer/unicode.h"

namespace detcheck {
namespace {

uint64_t EdgeKey(int node, char byte) {
  return static_cast<uint64_t>(node) << 8 | static_cast<unsigned char>(byte);
}

bool StandsAlone(std::string_view text, size_t begin, size_t end) {
  return !EndsWithWordCharacter(text.substr(0, begin)) &&
         !BeginsWithWordCharacter(text.substr(end));
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens)
    : tokens_(std::move(tokens)), token_at_{kNone} {
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const std::string& content = tokens_[i].content;
    int node = 0;
    for (const char byte : content) {
      const auto [edge, is_new] =
          edges_.emplace(EdgeKey(node, byte), static_cast<int>(token_at_.size()));
      if (is_new) token_at_.push_back(kNone);
      node = edge->second;
    }
    token_at_[node] = static_cast<int>(i);
    is_first_byte_[static_cast<unsigned char>(content[0])] = true;
  }
}

AddedTokenFinder::Found AddedTokenFinder::LongestAt(std::string_view text, size_t at) const {
  Found longest;
  int node = 0;
  for (size_t i = at; i < text.size(); ++i) {
    const auto edge = edges_.find(EdgeKey(node, text[i]));
    if (edge == edges_.end()) break;
    node = edge->second;
    if (token_at_[node] != kNone) longest = {token_at_[node], i + 1 - at};
  }
  return longest;
}

std::vector<AddedTokenPart> AddedTokenFinder::Split(std::string_view text) const {
  std::vector<AddedTokenPart> parts;
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    if (!is_first_byte_[static_cast<unsigned char>(text[at])]) {
      ++at;
      continue;
    }
    const Found found = LongestAt(text, at);
    if (found.token == kNone) {
      ++at;
      continue;
    }
    size_t begin = at;
    size_t end = at + found.len;
    at = end;  // Also past one that does not count: what is inside of it is not looked at again.
    const AddedToken& token = tokens_[static_cast<size_t>(found.token)];
    if (token.single_word && !StandsAlone(text, begin, end)) continue;
    if (token.lstrip) begin = std::max(begin - WhiteSpaceLenAtEnd(text.substr(0, begin)), done);
    if (token.rstrip) end += WhiteSpaceLenAtBegin(text.substr(end));
    if (done < begin) parts.push_back({.text = text.substr(done, begin - done)});
    parts.push_back({.id = token.id, .text = text.substr(begin, end - begin)});
    done = end;
  }
  if (done < text.size()) parts.push_back({.text = text.substr(done)});
  return parts;
}

}  // namespace detcheck
