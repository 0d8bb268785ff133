#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/request.h"

namespace detcheck {

/// A token that is looked for in the text before anything else, with the Hugging Face library's
/// words for how.
struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool single_word = false;  ///< Not where a word character is directly before or after it.
  bool lstrip = false;       ///< Takes the white space before it along.
  bool rstrip = false;       ///< Takes the white space after it along.
  bool normalized = false;   ///< Looked for, normalized, in the normalized text.
  bool special = false;      ///< Control token: may be left out where IDs become text.
};

/// What becomes of the matches of a pattern, and of the text between them.
enum class SplitBehavior {
  kRemoved,             ///< Matches are dropped.
  kIsolated,            ///< Each match is a piece.
  kMergedWithPrevious,  ///< Each match goes to the end of the piece before it.
  kMergedWithNext,      ///< Each match goes to the beginning of the piece after it.
  kContiguous,          ///< Neighbouring matches are one piece.
};

/// One step of the pre-tokenizer: each piece of text becomes several.
struct SplitStep {
  bool add_prefix_space = false;  ///< First: a piece that does not begin with a space gets one.
  std::string pattern;            ///< PCRE2; never matches an empty text. Empty: no splitting.
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;  ///< Matches are what lies between the pattern's.
};

/// A merge of two neighbouring tokens into one; an earlier merge of the list goes first.
struct Merge {
  TokenId left = 0;
  TokenId right = 0;
  TokenId merged = 0;
};

/// Byte-level BPE.
struct BpeSpec {
  std::vector<std::pair<std::string, TokenId>>
      vocab;  ///< Spelled tokens; texts and IDs are unique.
  std::vector<Merge> merges;
  bool ignore_merges = false;  ///< A piece that is a token is that token, whatever the merges.
};

/// All that a tokenizer.json says about which text gives which IDs.
struct TokenizerSpec {
  bool nfc = false;  ///< Text is brought to Unicode's normal form C.
  std::vector<AddedToken> added_tokens;
  std::vector<SplitStep> splits;
  BpeSpec bpe;
  std::vector<TokenId> ids_before;  ///< Special tokens put before a text where they are asked for.
  std::vector<TokenId> ids_after;
};

}  // namespace detcheck
