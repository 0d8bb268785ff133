#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/tokenizer/tokenizer_spec.h"

namespace detcheck {

/// A part of a text: an added token, or text between them.
struct AddedTokenPart {
  static constexpr TokenId kText = -1;
  TokenId id = kText;
  std::string_view text;
};

/// Finds added tokens in texts: the leftmost, and of those that begin there the longest.
class AddedTokenFinder {
 public:
  /// Where nothing is looked for, texts are one part.
  AddedTokenFinder() = default;
  /// Looks for the contents of `tokens`, which are not empty and differ.
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);

  /// `text` (UTF-8) in parts, in order; none is empty but where a token's white space went to the
  /// token before it.
  std::vector<AddedTokenPart> Split(std::string_view text) const;

 private:
  static constexpr int kNone = -1;
  struct Found {
    int token = kNone;  ///< Index in tokens_.
    size_t len = 0;
  };

  Found LongestAt(std::string_view text, size_t at) const;

  std::vector<AddedToken> tokens_;
  // A trie: from (node, byte) to a node; the root is 0.
  std::unordered_map<uint64_t, int> edges_;
  std::vector<int> token_at_;  ///< Of each node: which token ends there, or kNone.
  std::array<bool, 256> is_first_byte_ = {};
};

}  // namespace detcheck
