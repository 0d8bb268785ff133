// detcheck fixture make: fixtures from text, with a tokenizer.json.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/commands.h"
#include "cli/print.h"
#include "engine/base/error.h"
#include "engine/base/sha256.h"
#include "engine/tokenizer/tokenizer.h"
#include "fixtures/file_io.h"
#include "fixtures/prompt_texts.h"

namespace detcheck {
namespace {

std::filesystem::path TokenizerFile(const std::string& dir_or_file) {
  std::error_code ignored;
  const bool is_dir = std::filesystem::is_directory(dir_or_file, ignored);
  return is_dir ? std::filesystem::path(dir_or_file) / "tokenizer.json"
                : std::filesystem::path(dir_or_file);
}

/// Where `a` and `b` first differ.
size_t FirstDifference(const std::string& a, const std::string& b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                             a.begin());
}

/// Gives the fixture its IDs. Refuses a text that they do not give back: `place` names it.
void Tokenize(const Tokenizer& tokenizer, bool add_special, const std::string& place,
              Fixture* fixture) {
  const auto fail = [&](const std::string& fact) {
    throw Error(ErrorCode::kInput, fmt::format("{}: {}: {}", OneLine(place), fixture->id, fact));
  };
  std::vector<TokenId> ids;
  try {
    ids = tokenizer.Encode(fixture->text);
  } catch (const Error& error) {
    fail(error.what());
  }
  const std::string decoded = tokenizer.Decode(ids, Tokenizer::SpecialText::kKeep);
  if (decoded != fixture->text) {
    fail(fmt::format("the tokenizer does not give this text back: it differs at byte {}",
                     FirstDifference(fixture->text, decoded)));
  }
  fixture->prompt_ids =
      add_special ? tokenizer.Encode(fixture->text, Tokenizer::AddSpecial::kYes) : ids;
}

std::string BaseNames(const std::vector<std::string>& paths) {
  std::string names;
  for (const std::string& path : paths) {
    names += (names.empty() ? "" : ", ") + std::filesystem::path(path).filename().string();
  }
  return names;
}

FixtureSet Header(const FixtureMakeOptions& make, const std::filesystem::path& tokenizer_file) {
  const auto or_else = [](const std::string& text, const std::string& other) {
    return text.empty() ? other : text;
  };
  const std::filesystem::path folder =
      std::filesystem::absolute(tokenizer_file).lexically_normal().parent_path();
  FixtureSet set;
  set.name = or_else(make.name, std::filesystem::path(make.output).stem().string());
  set.description = make.description;
  set.origin = or_else(make.origin, BaseNames(make.texts));
  set.license = make.license;
  set.tokenizer_name = or_else(make.tokenizer_name, folder.filename().string());
  set.tokenizer_sha256 = Sha256Hex(ReadFile(tokenizer_file.string()));
  return set;
}

}  // namespace

ExitStatus FixtureMakeCommand(const Options& options) {
  const FixtureMakeOptions& make = options.fixture_make;
  const std::filesystem::path tokenizer_file = TokenizerFile(make.tokenizer);
  FixtureSet set = Header(make, tokenizer_file);
  const Tokenizer tokenizer = Tokenizer::Read(tokenizer_file.string());
  set.vocab_size = tokenizer.vocab_size();
  size_t num_tokens = 0;
  for (const std::string& path : make.texts) {
    for (Fixture& fixture : ReadPromptTexts(path, make.defaults)) {
      Tokenize(tokenizer, make.add_special_tokens, path, &fixture);
      num_tokens += fixture.prompt_ids.size();
      set.fixtures.push_back(std::move(fixture));
    }
  }
  WriteFixtureSet(set, make.output);
  PrintResult(fmt::format("{}: {} fixtures, {} tokens, vocabulary {}\n", OneLine(make.output),
                          set.fixtures.size(), num_tokens, set.vocab_size));
  return ExitStatus::kPass;
}

}  // namespace detcheck
