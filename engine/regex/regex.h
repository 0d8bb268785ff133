#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace detcheck {

/// A Perl-compatible regular expression (PCRE2) over UTF-8, compiled. Never changes: threads may
/// share it. The library's one door.
class Regex {
 public:
  /// What is known of the texts.
  enum class Texts {
    kAny,   ///< Bytes that are no UTF-8 match nothing.
    kUtf8,  ///< The caller has seen to it that they are UTF-8. Compiled to machine code where the
            ///< processor allows it.
  };

  /// Throws Error(kInput): "at byte 3: missing closing parenthesis".
  Regex(const std::string& pattern, Texts texts);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  /// True where some match might be empty.
  bool may_match_empty() const;

 private:
  friend class RegexMatcher;
  struct Code;
  std::unique_ptr<Code> code_;
};

/// Version of PCRE2 in use: "10.42 2022-12-11".
std::string RegexLibraryVersion();

/// Where a pattern matches: bytes [begin, end).
struct RegexMatch {
  size_t begin = 0;
  size_t end = 0;
};

/// Looks for matches of one Regex, which must outlive it. Of one thread: it holds the memory that
/// matching needs.
class RegexMatcher {
 public:
  explicit RegexMatcher(const Regex& regex);
  ~RegexMatcher();
  RegexMatcher(RegexMatcher&&) noexcept;
  RegexMatcher& operator=(RegexMatcher&&) noexcept;

  /// The first match in `text` that begins at byte `from` (the beginning of a character) or later.
  /// Throws Error(kInput) where it takes too long: "the match was given up: match limit exceeded".
  std::optional<RegexMatch> Find(std::string_view text, size_t from = 0);

 private:
  struct Memory;
  const Regex* regex_;
  std::unique_ptr<Memory> memory_;
};

}  // namespace detcheck
