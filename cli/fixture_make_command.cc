// detcheck fixture make: fixtures from text, with a tokenizer.json or a server's tokenizer.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/commands.h"
#include "cli/print.h"
#include "cli/prompt_tokenizer.h"
#include "engine/base/error.h"
#include "fixtures/file_io.h"
#include "fixtures/prompt_texts.h"

namespace detcheck {
namespace {

/// Where `a` and `b` first differ.
size_t FirstDifference(const std::string& a, const std::string& b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                             a.begin());
}

/// IDs of a text. Throws Error(kInput) where they do not give it back; where the tokenizer cannot
/// tell what they give, the set's round trip was not seen.
std::vector<TokenId> Tokenize(PromptTokenizer* tokenizer, const std::string& text,
                              FixtureSet* set) {
  std::vector<TokenId> ids = tokenizer->Encode(text, /*add_special=*/false);
  const std::optional<std::string> decoded = tokenizer->Decode(ids);
  if (!decoded) set->round_trip = false;
  if (decoded && *decoded != text) {
    throw Error(ErrorCode::kInput,
                fmt::format("the tokenizer does not give this text back: it differs at byte {}",
                            FirstDifference(text, *decoded)));
  }
  return *set->special_tokens ? tokenizer->Encode(text, /*add_special=*/true) : ids;
}

/// Adds the prompts of a file.
void AddTexts(const std::string& path, const Fixture& defaults, PromptTokenizer* tokenizer,
              FixtureSet* set) {
  for (Fixture& fixture : ReadPromptTexts(path, defaults)) {
    try {
      fixture.prompt_ids = Tokenize(tokenizer, fixture.text, set);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kInput) throw;
      throw Error(ErrorCode::kInput,
                  fmt::format("{}: {}: {}", OneLine(path), fixture.id, error.what()));
    }
    set->fixtures.push_back(std::move(fixture));
  }
}

std::string BaseNames(const std::vector<std::string>& paths) {
  std::string names;
  for (const std::string& path : paths) {
    names += (names.empty() ? "" : ", ") + std::filesystem::path(path).filename().string();
  }
  return names;
}

FixtureSet Header(const FixtureMakeOptions& make, const PromptTokenizer& tokenizer) {
  const auto or_else = [](const std::string& text, const std::string& other) {
    return text.empty() ? other : text;
  };
  FixtureSet set;
  set.name = or_else(make.name, std::filesystem::path(make.output).stem().string());
  set.description = make.description;
  set.origin = or_else(make.origin, BaseNames(make.texts));
  set.license = make.license;
  tokenizer.DescribeIn(&set);
  set.special_tokens = make.add_special_tokens;
  set.round_trip = true;
  return set;
}

/// The tokenizer's where it tells, else as few as hold all IDs.
int VocabSize(const PromptTokenizer& tokenizer, const FixtureSet& set) {
  if (const auto told = tokenizer.vocab_size()) return *told;
  TokenId highest = 0;
  for (const Fixture& fixture : set.fixtures) {
    for (const TokenId id : fixture.prompt_ids) highest = std::max(highest, id);
  }
  return highest + 1;
}

}  // namespace

ExitStatus FixtureMakeCommand(const Options& options) {
  const FixtureMakeOptions& make = options.fixture_make;
  const std::unique_ptr<PromptTokenizer> tokenizer =
      MakePromptTokenizer(make, options.target.remote);
  FixtureSet set = Header(make, *tokenizer);
  for (const std::string& path : make.texts) AddTexts(path, make.defaults, tokenizer.get(), &set);
  set.vocab_size = VocabSize(*tokenizer, set);
  WriteFixtureSet(set, make.output);
  size_t num_tokens = 0;
  for (const Fixture& fixture : set.fixtures) num_tokens += fixture.prompt_ids.size();
  PrintResult(fmt::format(
      "{}: {} fixtures, {} tokens, vocabulary {}{}\n", OneLine(make.output), set.fixtures.size(),
      num_tokens, set.vocab_size,
      *set.round_trip ? ""
                      : "; not checked whether IDs give texts back: the server does not decode"));
  return ExitStatus::kPass;
}

}  // namespace detcheck
