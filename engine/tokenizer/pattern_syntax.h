#pragma once

#include <string>
#include <string_view>

namespace detcheck {

/// The PCRE2 pattern that means what `pattern` means to Oniguruma (Ruby syntax, UTF-8), which
/// matches tokenizer.json's patterns in the Hugging Face library. Known: literals, escapes of
/// punctuation, \t \n \r \f \v \a \e, \xHH, \x{H…}, \uHHHH, \s \S \d \D, general categories
/// (\p{Lu}, \P{L}, \p{^N}; Unicode 16.0), classes of these with ranges, groups "(…)", "(?:…)",
/// "(?i:…)", "(?=…)",
/// "(?!…)",
/// "(?<=…)", "(?<!…)", "|", and the quantifiers ? * + {n} {n,} {n,m}, lazy or, but for braces,
/// possessive. Throws Error(kInput) for anything else, whose meaning might differ:
/// "at byte 7: "\w" is not supported".
std::string OnigurumaToPcre2(std::string_view pattern);

/// `text` as a pattern that matches it and nothing else.
std::string LiteralPattern(std::string_view text);

/// Inside of a class: the characters that \s matches (the property White_Space).
inline constexpr std::string_view kWhiteSpaceClass =
    R"(\x09-\x0D\x20\x85\xA0\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

}  // namespace detcheck
