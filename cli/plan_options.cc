#include "cli/plan_options.h"

#include <fmt/format.h>

#include <limits>

#include "cli/number.h"
#include "engine/base/error.h"
#include "engine/base/private_names.h"
#include "fixtures/file_io.h"
#include "fixtures/scope_word.h"

namespace detcheck {
namespace {

constexpr int64_t kMostTokens = 1 << 24;
constexpr double kNoLimit = std::numeric_limits<double>::max();

/// A field of the subjects' sampling; where none is given, fixtures keep their own.
template <typename T>
void SetSampling(ModeSettings* settings, T Sampling::*field, T value) {
  if (!settings->sampling) settings->sampling.emplace();
  settings->sampling.value().*field = value;
}

double ParseTopP(const std::string& text) {
  const double value = ParseReal("--top-p", text, 0.0, 1.0);
  if (value == 0.0) throw Error(ErrorCode::kUsage, "--top-p 0: leaves no token to choose");
  return value;
}

int ParseTopK(const std::string& text) {
  return text == "-1" ? -1 : static_cast<int>(ParseWhole("--top-k", text, 1, kMostTokens));
}

void AddSamplingOptions(OptionAdder* add, ModeSettings* settings) {
  add->BeginGroup("Sampling of the subjects (where none is given: each fixture's own)");
  add->Value("--temperature", "X", "0", "0: greedy", [=](const std::string& text) {
    SetSampling(settings, &Sampling::temperature, ParseReal("--temperature", text, 0.0, kNoLimit));
  });
  add->Value("--top-p", "X", "1", "1: off", [=](const std::string& text) {
    SetSampling(settings, &Sampling::top_p, ParseTopP(text));
  });
  add->Value("--top-k", "N", "-1", "-1: off", [=](const std::string& text) {
    SetSampling(settings, &Sampling::top_k, ParseTopK(text));
  });
  add->Value("--min-p", "X", "0", "0: off", [=](const std::string& text) {
    SetSampling(settings, &Sampling::min_p, ParseReal("--min-p", text, 0.0, 1.0));
  });
  add->Value("--sampling-seed", "N", "42", "used at temperature > 0", [=](const std::string& text) {
    const int64_t seed = ParseWhole("--sampling-seed", text, 0, kMostSeed);
    SetSampling(settings, &Sampling::seed, static_cast<uint64_t>(seed));
  });
}

// Not the folder of a schema.
std::string ShownCriterion(const std::string& text) {
  constexpr std::string_view kSchema = "json_schema:";
  if (!text.starts_with(kSchema)) return text;
  return std::string(kSchema) + PublicName(text.substr(kSchema.size()));
}

ShardChoice ParseShard(const std::string& text) {
  constexpr int64_t kMostShards = 1000;
  const size_t slash = text.find('/');
  if (slash == std::string::npos) {
    throw Error(ErrorCode::kUsage, fmt::format("--shard {}: not INDEX/COUNT", OneLine(text)));
  }
  const int64_t count = ParseWhole("--shard", text.substr(slash + 1), 1, kMostShards);
  return {static_cast<int>(ParseWhole("--shard", text.substr(0, slash), 1, count)),
          static_cast<int>(count)};
}

}  // namespace

void AddShard(OptionAdder* add, Options* options) {
  add->Value("--shard", "INDEX/COUNT", "the whole plan",
             "run one of COUNT parts of the plan, from 1 on, which\ndetcheck merge puts together",
             [=](const std::string& text) { options->shard = ParseShard(text); });
}

void AddPlanOptions(OptionAdder* add, Options* options) {
  ModeSettings* settings = &options->settings;
  add->BeginGroup("What to run");
  add->Paths("--fixture", "FILE|NAME", "the shipped sets",
             "a file or set of fixtures, or a subject's ID;\nrepeatable",
             [=](const std::string& text) { options->fixtures.push_back(text); });
  add->Word<Profile>(
      "--profile", &settings->profile,
      {{"quick", Profile::kQuick}, {"default", Profile::kDefault}, {"full", Profile::kFull}},
      "default", "how much to run; --dry-run shows it");
  add->Whole("--n-trials", &settings->num_trials, 1, 1000000, "the profile's",
             "batches per fixture and mode");
  add->Value("--batch-sizes", "LIST", "the profile's", "such as 1,2,8,33",
             [=](const std::string& text) {
               settings->batch_sizes = ParseWholeList("--batch-sizes", text, 1, 4096);
             });
  add->Whole("--long-tokens", &settings->long_tokens, 1, kMostTokens, "the profile's",
             "longest neighbour prompt of mixed");
  add->Whole("--max-new-tokens", &settings->max_new_tokens, 1, 1 << 20, "the fixture's, or 128",
             "tokens of each answer");
  add->Whole("--top-logprobs", &settings->top_logprobs, 0, 100,
             std::to_string(settings->top_logprobs), "candidates told with each token");
  add->Value(
      "--criterion", "KIND[:ARG]", "bitwise",
      "what the same answer means: bitwise, token_ids, text;\nor what every text must be: "
      "json_schema:FILE, regex:RE,\ncommand:CMD (text on stdin, exit code 0, no shell)",
      [=](const std::string& text) { settings->criterion = ParseCriterion(text); }, ShownCriterion);
  add->Value("--scope", "LIST", "",
             "what the run must cover, or be inconclusive, such as\nbatch,prefix_cache",
             [=](const std::string& text) { settings->required_scope = ParseScopeWords(text); });
  add->Seed("--plan-seed", &settings->plan_seed, "of the draws that make the plan");
  AddSamplingOptions(add, settings);
}

}  // namespace detcheck
