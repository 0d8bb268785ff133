#pragma once

#include <string>
#include <vector>

#include "fixtures/fixture.h"
#include "fixtures/modes/modes.h"

namespace detcheck {

/// Folder of the shipped sets: beside the installed program, else in the source tree.
std::string SetsDir();

/// A set by file name, by name ("short-questions.smollm2"), or by name without the edition.
/// Throws Error(kInput).
FixtureSet LoadSet(const std::string& name_or_path, const std::string& edition);

/// "smollm2" where the model directory's tokenizer is the one that the shipped sets of that edition
/// were made with; else "any".
std::string EditionFor(const std::string& model);

/// A set that was asked for, and how.
struct GivenSet {
  std::string name;  ///< As given.
  FixtureSet set;
};

struct ChosenFixtures {
  Fixtures fixtures;
  std::vector<std::string> subject_ids;  ///< Subjects to keep; empty: all.
  std::vector<GivenSet> given;
};

/// Fixtures of a run: the sets among `given`, the shipped ones for the roles that those do not
/// fill, and the subjects named by ID. Throws Error(kInput), Error(kUsage).
ChosenFixtures ChooseFixtures(const std::vector<std::string>& given, const std::string& model);

/// Throws Error(kInput), naming file and place, where the target cannot take a fixture of a set
/// that was given. `max_new_tokens`: 0 for the fixture's own.
void RequireFits(const ChosenFixtures& chosen, const TargetFacts& facts, int max_new_tokens);

}  // namespace detcheck
