#include "engine/tokenizer/pre_tokenizer.h"

#include <utility>

namespace detcheck {
namespace {

/// A stretch of a text: a match, or what lies between two.
struct Stretch {
  size_t begin = 0;
  size_t end = 0;
  bool is_match = false;
};

/// All stretches of `text`, in order, none empty.
void FindStretches(std::string_view text, bool invert, RegexMatcher* matcher,
                   std::vector<Stretch>* stretches) {
  stretches->clear();
  size_t done = 0;
  while (done < text.size()) {
    const std::optional<RegexMatch> match = matcher->Find(text, done);
    if (!match) break;
    if (done < match->begin) stretches->push_back({done, match->begin, invert});
    stretches->push_back({match->begin, match->end, !invert});
    done = match->end;
  }
  if (done < text.size()) stretches->push_back({done, text.size(), invert});
}

/// Whether `next` belongs to the piece that `previous` ends.
bool Joins(const Stretch& previous, const Stretch& next, SplitBehavior behavior) {
  switch (behavior) {
    case SplitBehavior::kRemoved:
    case SplitBehavior::kIsolated:
      return false;
    case SplitBehavior::kMergedWithPrevious:
      return next.is_match && !previous.is_match;
    case SplitBehavior::kMergedWithNext:
      return previous.is_match && !next.is_match;
    case SplitBehavior::kContiguous:
      return previous.is_match == next.is_match;
  }
  return false;
}

void AddPieces(std::string_view text, const std::vector<Stretch>& stretches, SplitBehavior behavior,
               std::vector<std::string_view>* pieces) {
  for (size_t i = 0; i < stretches.size();) {
    const size_t begin = i++;
    while (i < stretches.size() && Joins(stretches[i - 1], stretches[i], behavior)) ++i;
    if (behavior == SplitBehavior::kRemoved && stretches[begin].is_match) continue;
    pieces->push_back(
        text.substr(stretches[begin].begin, stretches[i - 1].end - stretches[begin].begin));
  }
}

}  // namespace

PreTokenizer::PreTokenizer(const std::vector<SplitStep>& steps) {
  for (const SplitStep& step : steps) {
    steps_.push_back({.spec = step, .regex = std::nullopt});
    if (!step.pattern.empty()) steps_.back().regex.emplace(step.pattern, Regex::Texts::kUtf8);
  }
}

PieceSplitter::PieceSplitter(const PreTokenizer& pre_tokenizer) : pre_tokenizer_(pre_tokenizer) {
  for (const PreTokenizer::Step& step : pre_tokenizer.steps_) {
    matchers_.emplace_back();
    if (step.regex) matchers_.back().emplace(*step.regex);
  }
}

const std::vector<std::string_view>& PieceSplitter::Split(std::string_view text) {
  with_prefix_space_.clear();
  pieces_.clear();
  if (!text.empty()) pieces_.push_back(text);
  std::vector<Stretch> stretches;
  for (size_t i = 0; i < matchers_.size(); ++i) {
    const SplitStep& step = pre_tokenizer_.steps_[i].spec;
    if (step.add_prefix_space) AddPrefixSpaces();
    if (!matchers_[i]) continue;
    std::vector<std::string_view> next;
    for (const std::string_view piece : pieces_) {
      FindStretches(piece, step.invert, &*matchers_[i], &stretches);
      AddPieces(piece, stretches, step.behavior, &next);
    }
    pieces_ = std::move(next);
  }
  return pieces_;
}

void PieceSplitter::AddPrefixSpaces() {
  for (std::string_view& piece : pieces_) {
    if (piece.starts_with(' ')) continue;
    piece = with_prefix_space_.emplace_back(" " + std::string(piece));
  }
}

}  // namespace detcheck
