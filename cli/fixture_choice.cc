#include "cli/fixture_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/data_folder.h"
#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "fixtures/file_io.h"

namespace detcheck {
namespace {

namespace fs = std::filesystem;

constexpr char kAnyEdition[] = "any";
constexpr int kDefaultMaxNewTokens = 128;

/// The shipped set of each role, without its edition.
constexpr std::pair<FixtureRole, const char*> kShipped[] = {
    {FixtureRole::kSubject, "short-questions"},
    {FixtureRole::kNeighbour, "neighbours"},
    {FixtureRole::kLong, "long-prompts"},
    {FixtureRole::kFamily, "prefix-families"},
};

bool IsShipped(const std::string& name) {
  return name.find('/') == std::string::npos &&
         fs::is_regular_file(fs::path(SetsDir()) / (name + ".json"));
}

bool NamesSet(const std::string& given, const std::string& edition) {
  return IsShipped(given) || IsShipped(given + '.' + edition) || given.ends_with(".json") ||
         fs::is_regular_file(given);
}

void RequireVocabulary(const Fixture& fixture, const std::string& place, int vocab_size) {
  for (size_t i = 0; i < fixture.prompt_ids.size(); ++i) {
    if (fixture.prompt_ids[i] < vocab_size) continue;
    throw Error(ErrorCode::kInput,
                fmt::format("{}prompt_ids[{}]: {} is outside the target's vocabulary of {}", place,
                            i, fixture.prompt_ids[i], vocab_size));
  }
}

void RequireContext(const Fixture& fixture, const std::string& place, int answer_len,
                    int context_len) {
  const auto prompt_len = static_cast<int>(fixture.prompt_ids.size());
  if (prompt_len + answer_len <= context_len) return;
  throw Error(
      ErrorCode::kInput,
      fmt::format("{}a prompt of {} tokens and an answer of {} are longer than the target's "
                  "context of {}",
                  place, prompt_len, answer_len, context_len));
}

std::set<FixtureRole> RolesOf(const std::vector<FixtureSet>& sets) {
  std::set<FixtureRole> roles;
  for (const FixtureSet& set : sets) {
    for (const Fixture& fixture : set.fixtures) roles.insert(fixture.role);
  }
  return roles;
}

void RequireSubjects(const ChosenFixtures& chosen) {
  for (const std::string& id : chosen.subject_ids) {
    const auto& subjects = chosen.fixtures.subjects;
    const bool is_there = std::any_of(subjects.begin(), subjects.end(),
                                      [&](const Fixture& fixture) { return fixture.id == id; });
    if (is_there) continue;
    throw Error(
        ErrorCode::kUsage,
        fmt::format("--fixture {}: no file, no shipped set, and none of the subjects ({} to "
                    "{}) has this name",
                    OneLine(id), subjects.empty() ? "none" : subjects.front().id,
                    subjects.empty() ? "none" : subjects.back().id));
  }
}

}  // namespace

std::string SetsDir() {
  return DataFolder("sets");
}

std::string EditionFor(const std::string& model) {
  std::error_code ignored;
  const fs::path tokenizer = fs::path(model) / "tokenizer.json";
  if (!fs::is_regular_file(tokenizer, ignored)) return kAnyEdition;
  const std::string digest = Sha256Hex(ReadFile(tokenizer.string()));
  const std::string stem = std::string(kShipped[0].second) + '.';
  for (const auto& entry : fs::directory_iterator(SetsDir(), ignored)) {
    const std::string name = entry.path().stem().string();
    if (!name.starts_with(stem) || entry.path().extension() != ".json") continue;
    const FixtureSet set = ReadFixtureSet(entry.path().string());
    if (set.tokenizer_sha256 == digest) return name.substr(stem.size());
  }
  return kAnyEdition;
}

FixtureSet LoadSet(const std::string& name_or_path, const std::string& edition) {
  const std::string in_edition = name_or_path + '.' + edition;
  const bool use_edition = !IsShipped(name_or_path) && IsShipped(in_edition);
  return FindFixtureSet(use_edition ? in_edition : name_or_path, SetsDir());
}

ChosenFixtures ChooseFixtures(const std::vector<std::string>& given, const std::string& model) {
  const std::string edition = EditionFor(model);
  ChosenFixtures chosen;
  std::vector<FixtureSet> sets;
  for (const std::string& one : given) {
    if (NamesSet(one, edition)) {
      sets.push_back(LoadSet(one, edition));
      chosen.given.push_back({one, sets.back()});
    } else {
      chosen.subject_ids.push_back(one);
    }
  }
  const std::set<FixtureRole> roles = RolesOf(sets);
  for (const auto& [role, name] : kShipped) {
    if (!roles.contains(role)) sets.push_back(LoadSet(name, edition));
  }
  chosen.fixtures = GatherFixtures(sets);
  RequireSubjects(chosen);
  return chosen;
}

void RequireFits(const ChosenFixtures& chosen, const TargetFacts& facts, int max_new_tokens) {
  for (const GivenSet& given : chosen.given) {
    for (const Fixture& fixture : given.set.fixtures) {
      const std::string place = fmt::format("{}: fixture {}: ", OneLine(given.name), fixture.id);
      RequireVocabulary(fixture, place, facts.vocab_size.value_or(given.set.vocab_size));
      if (fixture.role != FixtureRole::kSubject || !facts.context_len) continue;
      const int answer_len = max_new_tokens > 0
                                 ? max_new_tokens
                                 : fixture.max_new_tokens.value_or(kDefaultMaxNewTokens);
      RequireContext(fixture, place, answer_len, *facts.context_len);
    }
  }
}

}  // namespace detcheck
