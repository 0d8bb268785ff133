// detcheck fixture show|check: look at fixtures, and validate files of them.

#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/fixture_choice.h"
#include "cli/print.h"
#include "engine/base/error.h"
#include "fixtures/file_io.h"

namespace detcheck {
namespace {

constexpr size_t kFirstIds = 8;
constexpr int kMaxNewTokensUnlessStated = 128;

std::string RoleName(FixtureRole role) {
  switch (role) {
    case FixtureRole::kSubject:
      return "subject";
    case FixtureRole::kNeighbour:
      return "neighbour";
    case FixtureRole::kLong:
      return "long";
    case FixtureRole::kFamily:
      return "family";
  }
  return "";
}

std::string SamplingText(const Sampling& sampling) {
  if (sampling.temperature == 0.0) return "greedy";
  return fmt::format("temperature {:g}, top_p {:g}, top_k {}, min_p {:g}, seed {}",
                     sampling.temperature, sampling.top_p, sampling.top_k, sampling.min_p,
                     sampling.seed);
}

void ShowSet(const FixtureSet& set) {
  PrintResult(fmt::format("{}: {}\n", set.name, OneLine(set.description)));
  PrintResult(fmt::format(
      "origin     {}\nlicense    {}\ntokenizer  {}\nvocabulary {}\n\n", OneLine(set.origin),
      OneLine(set.license),
      set.tokenizer_name.empty()
          ? "any"
          : set.tokenizer_name + ' ' + set.tokenizer_sha256 + OneLine(set.tokenizer_server),
      set.vocab_size));
  size_t id_width = 2;
  for (const Fixture& fixture : set.fixtures) id_width = std::max(id_width, fixture.id.size());
  PrintResult(
      fmt::format("{:{}}  {:9}  {:>6}  {}\n", "id", id_width, "role", "tokens", "begins with"));
  for (const Fixture& fixture : set.fixtures) {
    const size_t num_shown = std::min(kFirstIds, fixture.prompt_ids.size());
    const auto begin = fixture.prompt_ids.begin();
    PrintResult(fmt::format("{:{}}  {:9}  {:6}  {}\n", fixture.id, id_width, RoleName(fixture.role),
                            fixture.prompt_ids.size(),
                            fmt::join(begin, begin + static_cast<std::ptrdiff_t>(num_shown), " ")));
  }
}

void ShowFixture(const Fixture& fixture) {
  const int max_new_tokens = fixture.max_new_tokens.value_or(kMaxNewTokensUnlessStated);
  PrintResult(fmt::format(
      "id             {}\nrole           {}\nsampling       {}\nmax_new_tokens {}\n", fixture.id,
      RoleName(fixture.role), SamplingText(fixture.sampling), max_new_tokens));
  PrintResult(
      fmt::format("prompt_sha256  {}\nrequest_sha256 {}\ntokens         {}\nprompt_ids     {}\n",
                  PromptDigest(fixture.prompt_ids),
                  RequestDigest(fixture.prompt_ids, fixture.sampling, max_new_tokens, true),
                  fixture.prompt_ids.size(), fmt::join(fixture.prompt_ids, " ")));
  if (!fixture.text.empty()) PrintResult(fmt::format("text           {}\n", OneLine(fixture.text)));
}

}  // namespace

ExitStatus FixtureShowCommand(const Options& options) {
  const FixtureSet set = LoadSet(options.file, "any");
  if (options.fixture_id.empty()) {
    ShowSet(set);
    return ExitStatus::kPass;
  }
  for (const Fixture& fixture : set.fixtures) {
    if (fixture.id != options.fixture_id) continue;
    ShowFixture(fixture);
    return ExitStatus::kPass;
  }
  throw Error(ErrorCode::kUsage, fmt::format("{}: no fixture has the ID {}", OneLine(options.file),
                                             OneLine(options.fixture_id)));
}

ExitStatus FixtureCheckCommand(const Options& options) {
  for (const std::string& file : options.files) {
    const FixtureSet set = LoadSet(file, "any");
    PrintResult(fmt::format("{}: ok, {} fixtures, vocabulary {}\n", OneLine(file),
                            set.fixtures.size(), set.vocab_size));
  }
  return ExitStatus::kPass;
}

}  // namespace detcheck
