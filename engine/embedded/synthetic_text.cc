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

std::string DecodeSynthetic(std::span<const TokenId> ids) {
  std::string text;
  for (const TokenId id : ids) text += SyntheticTokenText(id);
  return text;
}

}  // namespace detcheck
