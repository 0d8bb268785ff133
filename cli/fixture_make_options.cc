#include "cli/fixture_make_options.h"

#include <cstdint>

#include "cli/number.h"
#include "engine/base/error.h"

namespace detcheck {
namespace {

constexpr int64_t kMostTokens = 1 << 24;
constexpr double kHottest = 1e9;

void AddHeader(OptionAdder* add, FixtureMakeOptions* make) {
  add->Value("--name", "NAME", "the output's", "of the set",
             [=](const std::string& text) { make->name = text; });
  add->Value("--description", "TEXT", "", "what the set holds",
             [=](const std::string& text) { make->description = text; });
  add->Value("--origin", "TEXT", "the files' names", "where the texts come from",
             [=](const std::string& text) { make->origin = text; });
  add->Value("--license", "SPDX", "", "licence of the texts",
             [=](const std::string& text) { make->license = text; });
}

void AddSampling(OptionAdder* add, Fixture* defaults) {
  Sampling* sampling = &defaults->sampling;
  add->Value("--temperature", "X", "0", "0: greedy", [=](const std::string& text) {
    sampling->temperature = ParseReal("--temperature", text, 0.0, kHottest);
  });
  add->Value("--top-p", "X", "1", "above 0; 1: off", [=](const std::string& text) {
    sampling->top_p = ParseReal("--top-p", text, 1e-9, 1.0);
  });
  add->Value("--top-k", "N", "-1", "-1: off", [=](const std::string& text) {
    sampling->top_k =
        text == "-1" ? -1 : static_cast<int>(ParseWhole("--top-k", text, 1, kMostTokens));
  });
  add->Value("--min-p", "X", "0", "0: off", [=](const std::string& text) {
    sampling->min_p = ParseReal("--min-p", text, 0.0, 1.0);
  });
  add->Seed("--sampling-seed", &sampling->seed, "used at temperature > 0");
  add->Value("--max-new-tokens", "N", "the run's", "tokens of each answer",
             [=](const std::string& text) {
               defaults->max_new_tokens =
                   static_cast<int>(ParseWhole("--max-new-tokens", text, 1, kMostTokens));
             });
}

}  // namespace

void AddFixtureMakeOptions(OptionAdder* add, FixtureMakeOptions* make) {
  add->Positionals(
      "TEXT",
      "files of text: a .jsonl has a prompt a line, as an object with\n\"text\", and "
      "if wanted \"id\", \"role\", \"sampling\", \"max_new_tokens\";\nany other file is "
      "one prompt, whole",
      &make->texts);
  add->BeginGroup("Tokens");
  add->Path("--tokenizer", "DIR|FILE", "",
            "a model's directory, or a tokenizer.json (this or\n--endpoint)",
            [=](const std::string& text) { make->tokenizer = text; });
  add->Value("--tokenizer-name", "NAME", "its folder's, or the model's", "as the set calls it",
             [=](const std::string& text) { make->tokenizer_name = text; });
  add->Flag("--add-special-tokens", "with the special tokens that the tokenizer puts around a text",
            [=] { make->add_special_tokens = true; });
  add->BeginGroup("Set");
  add->Path("--output", "FILE", "", "the set to write (needed)",
            [=](const std::string& text) { make->output = text; });
  AddHeader(add, make);
  add->BeginGroup("Fixtures (where a line has nothing else)");
  add->Word<FixtureRole>("--role", &make->defaults.role,
                         {{"subject", FixtureRole::kSubject},
                          {"neighbour", FixtureRole::kNeighbour},
                          {"long", FixtureRole::kLong},
                          {"family", FixtureRole::kFamily}},
                         "subject", "what they are for");
  AddSampling(add, &make->defaults);
}

void CheckFixtureMakeOptions(const FixtureMakeOptions& make, const RemoteOptions& server) {
  const bool is_local = !make.tokenizer.empty();
  const bool is_remote = !server.endpoint.empty();
  if (make.output.empty() || (!is_local && !is_remote)) {
    throw Error(ErrorCode::kUsage, "fixture make: needs --output, and --tokenizer or --endpoint");
  }
  if (is_local && is_remote) {
    throw Error(ErrorCode::kUsage, "fixture make: --tokenizer or --endpoint, not both");
  }
}

}  // namespace detcheck
