#pragma once

// Internal to the renderings: the scope in words. What a target or a file said is not yet made
// printable here.

#include <string>
#include <vector>

#include "reports/scope.h"

namespace detcheck {

/// "16 distinct batches", "24 repeats", "1 other start".
std::string CountInWords(const WordScope& word);

/// "2 (n = 3), 4 (n = 1)"; of many values the first ones, and how many more there are.
std::string ValuesInWords(const ScopeAxis& axis);

/// What is known of the word where it is tested: its bound, or that there is none.
std::string BoundInWords(const WordScope& word);

/// A tested word in one line: "batch: 16 distinct batches (single, batch); formed_size 2, 4; also
/// varied: item, prefill_chunks; up to 17 % of such batches could still diverge …".
std::string WordInWords(const WordScope& word);

/// "arrival (mixed was not asked for)", for each word that is not tested.
std::vector<std::string> UntestedWords(const Scope& scope);

/// "engine.name detcheck-cpu, model.name synthetic:tiny".
std::string FactsInWords(const std::vector<ScopeFact>& facts);

/// Name and text of each part of the scope, for properties and tables: the scope words by their
/// names, "held", "holds_for", "not_tested", "voided", "notes"; parts without text are left out.
std::vector<std::pair<std::string, std::string>> ScopeParts(const Scope& scope);

}  // namespace detcheck
