#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/request.h"

namespace detcheck {

/// The two token IDs of synthetic models that have the same text: equal text does not show equal
/// tokens. All other IDs have texts of their own.
inline constexpr TokenId kSyntheticTwinA = 12345;
inline constexpr TokenId kSyntheticTwinB = 23456;  ///< Reads as kSyntheticTwinA.

/// Text of token `id` (>= 0) of any synthetic model: a space, then `id` written with the 100
/// syllables "ba", "be", ... "zu" as digits, first syllable most significant, without leading
/// zeros but with IDs 0 .. 99, 100 .. 10,099 and 10,100 .. 1,010,099 having one, two and three.
std::string SyntheticTokenText(TokenId id);

/// The lowest token ID whose text is `text`; nothing where there is none.
std::optional<TokenId> SyntheticTokenOf(std::string_view text);

/// The texts of `ids` one after another.
std::string DecodeSynthetic(std::span<const TokenId> ids);

}  // namespace detcheck
