#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/regex/regex.h"
#include "engine/tokenizer/tokenizer_spec.h"

namespace detcheck {

/// The pre-tokenizer's steps, compiled. Never changes: threads may share it.
class PreTokenizer {
 public:
  explicit PreTokenizer(const std::vector<SplitStep>& steps);

 private:
  friend class PieceSplitter;
  struct Step {
    SplitStep spec;
    std::optional<Regex> regex;  ///< None: no splitting.
  };
  std::vector<Step> steps_;
};

/// Cuts texts into the pieces that are encoded each for itself. Of one thread.
class PieceSplitter {
 public:
  /// `pre_tokenizer` must outlive it.
  explicit PieceSplitter(const PreTokenizer& pre_tokenizer);

  /// Pieces of `text` (UTF-8), in order, none empty. Valid until the next call, and as long as
  /// `text`. Throws Error(kInput) where a pattern takes too long.
  const std::vector<std::string_view>& Split(std::string_view text);

 private:
  void AddPrefixSpaces();

  const PreTokenizer& pre_tokenizer_;
  std::vector<std::optional<RegexMatcher>> matchers_;  ///< Of each step.
  std::vector<std::string_view> pieces_;
  std::deque<std::string> with_prefix_space_;
};

}  // namespace detcheck
