#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/tokenizer/tokenizer_spec.h"

namespace detcheck {

/// Byte-level BPE's merges. Never changes: threads may share it.
class Bpe {
 public:
  explicit Bpe(const BpeSpec& spec);

 private:
  friend class BpeEncoder;
  struct PairHash {
    size_t operator()(uint64_t pair) const {
      pair *= 0x9E3779B97F4A7C15u;
      return pair ^ pair >> 32;
    }
  };
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  template <typename Value>
  using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;
  /// What a pair of neighbours becomes.
  struct Product {
    int rank = 0;  ///< The lowest goes first.
    TokenId id = 0;
  };

  const Product* FindProduct(TokenId left, TokenId right) const;

  std::array<TokenId, 256> id_of_byte_;  ///< -1: the vocabulary lacks this byte.
  std::unordered_map<uint64_t, Product, PairHash> products_;
  TextMap<TokenId> whole_pieces_;  ///< With ignore_merges: by the bytes that tokens spell.
};

/// Encodes pieces, and remembers what short ones became. Of one thread.
class BpeEncoder {
 public:
  /// `bpe` must outlive it.
  explicit BpeEncoder(const Bpe& bpe) : bpe_(bpe) {}

  /// Appends the IDs of `piece`. Bytes that the vocabulary lacks are left out, as the Hugging Face
  /// library does. Time O(n log n).
  void Append(std::string_view piece, std::vector<TokenId>* ids);

 private:
  /// A token of the piece so far; after a merge the right one is gone.
  struct Symbol {
    TokenId id = 0;
    int previous = -1;
    int next = -1;
    bool is_gone = false;
  };
  /// A merge that was possible when it was noted.
  struct Candidate {
    int rank = 0;
    int at = 0;  ///< Index of the left symbol.
    TokenId merged = 0;
  };

  void Note(int left);
  void MergeWithNext(int left, TokenId merged);
  void Merge(std::string_view piece, std::vector<TokenId>* ids);

  const Bpe& bpe_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> candidates_;  ///< A heap, the best on top.
  Bpe::TextMap<std::vector<TokenId>> remembered_;
};

}  // namespace detcheck
