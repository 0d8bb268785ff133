#include "reports/scope_text.h"

#include <fmt/format.h>

#include "reports/bound.h"

namespace detcheck {
namespace {

/// Values of one axis that are listed; the others are counted.
constexpr size_t kMaxListedValues = 24;

std::string NameOf(const ScopeAxis::Value& value) {
  return value.word.empty() ? fmt::format("{}", value.value) : value.word;
}

template <typename InWords>
std::string Listed(const ScopeAxis& axis, const InWords& in_words) {
  std::string words;
  size_t num_listed = 0;
  for (const ScopeAxis::Value& value : axis.values) {
    if (num_listed++ == kMaxListedValues) {
      return fmt::format("{} and {} more", words, axis.values.size() - kMaxListedValues);
    }
    words += (words.empty() ? "" : ", ") + in_words(value);
  }
  return words;
}

}  // namespace

std::string CountInWords(const WordScope& word) {
  const BoundUnit unit = UnitOf(word.word);
  return fmt::format("{} {}", word.n, word.n == 1 ? unit.one : unit.many);
}

std::string ValuesInWords(const ScopeAxis& axis) {
  return Listed(axis, [](const ScopeAxis::Value& value) {
    return fmt::format("{} (n = {})", NameOf(value), value.n);
  });
}

std::string BoundInWords(const WordScope& word) {
  return word.bound.empty() ? "no bound, as something did not pass" : word.bound;
}

std::string WordInWords(const WordScope& word) {
  std::vector<std::string> modes;
  for (const Mode mode : word.modes) modes.push_back(ToString(mode));
  std::string words =
      fmt::format("{}: {} ({})", ToString(word.word), CountInWords(word), fmt::join(modes, ", "));
  std::vector<std::string> others;
  for (const ScopeAxis& axis : word.varied) {
    if (axis.name == OwnAxisOf(word.word)) {
      words += fmt::format("; {} {}", axis.name, Listed(axis, NameOf));
    } else {
      others.push_back(axis.name);
    }
  }
  if (!others.empty()) words += fmt::format("; also varied: {}", fmt::join(others, ", "));
  return words + "; " + BoundInWords(word);
}

std::vector<std::string> UntestedWords(const Scope& scope) {
  std::vector<std::string> untested;
  for (const WordScope& word : scope.words) {
    if (word.n > 0) continue;
    untested.push_back(fmt::format("{} ({})", ToString(word.word), word.why_not));
  }
  return untested;
}

std::string FactsInWords(const std::vector<ScopeFact>& facts) {
  std::string words;
  for (const ScopeFact& fact : facts) {
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", fact.name, fact.value);
  }
  return words;
}

std::vector<std::pair<std::string, std::string>> ScopeParts(const Scope& scope) {
  std::vector<std::pair<std::string, std::string>> parts;
  const auto add = [&](const std::string& name, const std::string& text) {
    if (!text.empty()) parts.emplace_back(name, text);
  };
  for (const WordScope& word : scope.words) {
    const std::string name = ToString(word.word);
    add(name,
        word.n == 0 ? "not tested: " + word.why_not : WordInWords(word).substr(name.size() + 2));
  }
  add("held", FactsInWords(scope.held));
  add("holds_for", FactsInWords(scope.holds_for));
  add("not_tested", fmt::format("{}", fmt::join(scope.not_tested, "; ")));
  const size_t num_voided = scope.voided.size();
  if (num_voided > 0) {
    add("voided", fmt::format("{} {} not count", num_voided,
                              num_voided == 1 ? "attempt does" : "attempts do"));
  }
  add("notes", fmt::format("{}", fmt::join(scope.notes, "; ")));
  return parts;
}

}  // namespace detcheck
