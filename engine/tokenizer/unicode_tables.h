#pragma once

#include <span>
#include <string_view>

namespace detcheck {

// The Hugging Face library, whose IDs the tokenizer gives, knows Unicode in another version than
// the libraries here, and in two: its patterns know 16.0, its normal forms 9.0. These tables, made
// by asking tokenizers 0.23.3 about each character, make up for the difference.

/// Characters first..last.
struct CharacterRange {
  char32_t first = 0;
  char32_t last = 0;
};

/// Characters of one general category.
struct CategoryRange {
  std::string_view category;  ///< Two letters.
  CharacterRange range;
};

/// Characters of Unicode 15.0 to 16.0: Debian 12's PCRE2 knows 14.0.
std::span<const CategoryRange> LaterCategories();

/// Characters later than Unicode 9.0 that would move (their combining class is not 0) or be
/// composed, in order: normal form C, as the library makes it, leaves them and their surroundings
/// alone.
std::span<const CharacterRange> LaterCombining();

}  // namespace detcheck
