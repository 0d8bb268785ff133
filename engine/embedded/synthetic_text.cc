#include "engine/embedded/synthetic_text.h"

#include <string_view>

namespace detcheck {
namespace {

constexpr std::string_view kConsonants = "bcdfghjklmnprstvwxyz";
constexpr std::string_view kVowels = "aeiou";
constexpr int64_t kNumSyllables = 100;
static_assert(kConsonants.size() * kVowels.size() == kNumSyllables);

}  // namespace

std::string SyntheticTokenText(TokenId id) {
  int64_t rest = id == kSyntheticTwinB ? kSyntheticTwinA : id;
  int num_syllables = 1;
  for (int64_t size = kNumSyllables; rest >= size; size *= kNumSyllables) {
    rest -= size;
    ++num_syllables;
  }
  std::string text(1 + 2 * static_cast<size_t>(num_syllables), ' ');
  for (int i = num_syllables - 1; i >= 0; --i) {
    const auto syllable = static_cast<size_t>(rest % kNumSyllables);
    text[1 + 2 * i] = kConsonants[syllable / kVowels.size()];
    text[2 + 2 * i] = kVowels[syllable % kVowels.size()];
    rest /= kNumSyllables;
  }
  return text;
}

std::optional<TokenId> SyntheticTokenOf(std::string_view text) {
  const size_t num_syllables = text.size() / 2;
  if (text.size() % 2 == 0 || num_syllables < 1 || num_syllables > 3 || text[0] != ' ') {
    return std::nullopt;
  }
  int64_t id = 0;
  int64_t shorter = 0;  // IDs whose texts have fewer syllables.
  int64_t size = 1;
  for (size_t i = 0; i < num_syllables; ++i) {
    const size_t consonant = kConsonants.find(text[1 + 2 * i]);
    const size_t vowel = kVowels.find(text[2 + 2 * i]);
    if (consonant == std::string_view::npos || vowel == std::string_view::npos) return std::nullopt;
    id = id * kNumSyllables + static_cast<int64_t>(consonant * kVowels.size() + vowel);
    if (i > 0) shorter += size;
    size *= kNumSyllables;
  }
  const auto token = static_cast<TokenId>(shorter + id);
  if (token == kSyntheticTwinB) return std::nullopt;  // Its text is its twin's.
  return token;
}

std::string DecodeSynthetic(std::span<const TokenId> ids) {
  std::string text;
  for (const TokenId id : ids) text += SyntheticTokenText(id);
  return text;
}

}  // namespace detcheck
