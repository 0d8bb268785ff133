#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace detcheck {

// Byte-level vocabularies spell each byte as one printable character (GPT-2's table): 0x21 to 0x7E,
// 0xA1 to 0xAC and 0xAE to 0xFF as the character of that number, the other 68 as U+0100, U+0101, …

/// The spelling of each byte, as UTF-8.
const std::array<std::string, 256>& ByteSpellings();

/// The bytes that `spelled` (UTF-8) spells; none where some character of it spells no byte.
std::optional<std::string> SpelledBytes(std::string_view spelled);

/// Bytes of a token as the Hugging Face library's decoder "ByteLevel" gives them: what it spells,
/// or `token` as it is where some character of it spells no byte.
std::string DecodedBytes(std::string_view token);

/// GPT-2's pattern of pieces, which the pre-tokenizer "ByteLevel" has with use_regex.
inline constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace detcheck
