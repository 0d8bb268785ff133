#include "cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/cli/testing.h"

namespace detcheck {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Words between blanks; '' stands for an empty one.
Options Parse(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words = {"detcheck"};
  for (std::string word; stream >> word;) words.push_back(word == "''" ? "" : word);
  std::vector<const char*> argv;
  argv.reserve(words.size());
  for (const std::string& word : words) argv.push_back(word.c_str());
  return ParseOptions(static_cast<int>(argv.size()), argv.data());
}

TEST(Options, DefaultsOfAMode) {
  const Options options = Parse("single");
  EXPECT_EQ(options.command, Command::kModes);
  EXPECT_THAT(options.settings.modes, ElementsAre(Mode::kSingle));
  EXPECT_EQ(options.target.engine, "auto");
  EXPECT_EQ(options.target.embedded.model, "synthetic:tiny");
  EXPECT_FALSE(options.target.embedded.deterministic);
  EXPECT_TRUE(options.target.embedded.radix_cache);
  EXPECT_FALSE(options.settings.sampling);
  EXPECT_EQ(options.settings.top_logprobs, 5);
  EXPECT_EQ(options.runner.step_attempts, 3);
  EXPECT_TRUE(options.progress);
  EXPECT_EQ(options.report, "");
  EXPECT_EQ(options.arguments, "single");
}

TEST(Options, EveryOptionOfAMode) {
  const Options options = Parse(
      "mixed --engine cpu --model dir/of/model/ --threads 3 --max-total-tokens 4096 "
      "--enable-deterministic-inference --attention-backend x --disable-radix-cache "
      "--chunked-prefill-size 128 --max-running-requests 9 --page-size 8 --dtype f32 "
      "--random-seed 7 --fixture a.json --fixture q03 --profile full --n-trials 4 "
      "--batch-sizes 1,2,33 --long-tokens 900 --max-new-tokens 64 --temperature 0.5 --top-p 0.9 "
      "--top-k 40 --min-p 0.05 --sampling-seed 9 --top-logprobs 0 --plan-seed 11 "
      "--criterion token_ids --budget 1.5 --step-attempts 2 --dry-run --plan p.json --resume "
      "--report r.json --quiet --no-progress --color never --allow-inconclusive mixed:formed:x");
  const EngineOptions& engine = options.target.embedded;
  EXPECT_EQ(options.target.engine, "cpu");
  EXPECT_EQ(engine.model, "dir/of/model/");
  EXPECT_EQ(engine.num_threads, 3);
  EXPECT_EQ(engine.max_total_tokens, 4096);
  EXPECT_TRUE(engine.deterministic);
  EXPECT_EQ(engine.attention_backend, "x");
  EXPECT_FALSE(engine.radix_cache);
  EXPECT_EQ(engine.chunked_prefill_size, 128);
  EXPECT_EQ(engine.max_running_requests, 9);
  EXPECT_EQ(engine.page_size, 8);
  EXPECT_EQ(engine.dtype, DType::kF32);
  EXPECT_EQ(engine.random_seed, 7u);
  EXPECT_THAT(options.fixtures, ElementsAre("a.json", "q03"));
  EXPECT_EQ(options.settings.profile, Profile::kFull);
  EXPECT_EQ(options.settings.num_trials, 4);
  EXPECT_THAT(options.settings.batch_sizes, ElementsAre(1, 2, 33));
  EXPECT_EQ(options.settings.long_tokens, 900);
  EXPECT_EQ(options.settings.max_new_tokens, 64);
  EXPECT_EQ(options.settings.sampling, (Sampling{0.5, 0.9, 40, 0.05, 9}));
  EXPECT_EQ(options.settings.top_logprobs, 0);
  EXPECT_EQ(options.settings.plan_seed, 11u);
  EXPECT_EQ(options.settings.criterion.kind, CriterionKind::kTokenIds);
  EXPECT_EQ(options.runner.budget_s, 1.5);
  EXPECT_EQ(options.runner.step_attempts, 2);
  EXPECT_TRUE(options.dry_run);
  EXPECT_EQ(options.save_plan, "p.json");
  EXPECT_TRUE(options.resume);
  EXPECT_EQ(options.report, "r.json");
  EXPECT_TRUE(options.quiet);
  EXPECT_FALSE(options.progress);
  EXPECT_EQ(options.color, ColorWish::kNever);
  ASSERT_EQ(options.allowed.size(), 1u);
  EXPECT_EQ(options.allowed[0].mode, Mode::kMixed);
  EXPECT_EQ(options.allowed[0].reason, "formed:x");
}

TEST(Options, ArgumentsAreKeptWithoutFoldersAndOutputOptions) {
  const std::string arguments =
      Parse(
          "single --model /home/someone/models/tiny/ --fixture dir/f.json --n-trials 3 --quiet "
          "--report r.json")
          .arguments;
  EXPECT_THAT(arguments, testing::StartsWith("single "));
  EXPECT_THAT(arguments, HasSubstr("--model tiny"));
  EXPECT_THAT(arguments, HasSubstr("--fixture f.json"));
  EXPECT_THAT(arguments, HasSubstr("--n-trials 3"));
  EXPECT_THAT(arguments, testing::Not(HasSubstr("someone")));
  EXPECT_THAT(arguments, testing::Not(HasSubstr("--report")));
  EXPECT_THAT(arguments, testing::Not(HasSubstr("--quiet")));
}

TEST(Options, FurtherEndpointsAreReplicas) {
  const TargetOptions target = Parse(
                                   "single --endpoint http://a.example:1 --endpoint "
                                   "http://127.0.0.1:2 --endpoint http://127.0.0.1:3")
                                   .target;
  EXPECT_EQ(target.remote.endpoint, "http://a.example:1");
  EXPECT_THAT(target.replicas, ElementsAre("http://127.0.0.1:2", "http://127.0.0.1:3"));
}

TEST(Options, Shards) {
  const Options options = Parse("single --shard 2/3");
  ASSERT_TRUE(options.shard);
  EXPECT_EQ(options.shard->index, 2);
  EXPECT_EQ(options.shard->count, 3);
  const Options merge = Parse("merge a.json b.json -o c.json");
  EXPECT_EQ(merge.command, Command::kMerge);
  EXPECT_THAT(merge.files, ElementsAre("a.json", "b.json"));
  EXPECT_EQ(merge.report, "c.json");
}

TEST(Options, CriteriaWithArguments) {
  const Options options = Parse("single --criterion json_schema:/home/someone/answer.json");
  EXPECT_EQ(options.settings.criterion.kind, CriterionKind::kJsonSchema);
  EXPECT_EQ(options.settings.criterion.argument, "/home/someone/answer.json");
  EXPECT_EQ(options.arguments, "single --criterion json_schema:answer.json");
  EXPECT_EQ(Parse("single --criterion regex:^a:b$").settings.criterion.argument, "^a:b$");
  EXPECT_EQ(Parse("single --criterion regex:^a:b$").arguments, "single --criterion regex:^a:b$");
}

TEST(Options, TheProtocolOfAGate) {
  EXPECT_EQ(Parse("gate r.json --protocol p.json").protocol, "p.json");
  EXPECT_EQ(Parse("gate r.json").protocol, "");
}

TEST(Options, MinusOneTurnsTopKOff) {
  EXPECT_EQ(Parse("single --top-k -1").settings.sampling->top_k, -1);
}

TEST(Options, AllNamesEveryMode) {
  const Options options = Parse("all");
  EXPECT_EQ(options.settings.modes, AllModes());
}

TEST(Options, OtherCommands) {
  EXPECT_EQ(Parse("run plan.json").command, Command::kRun);
  EXPECT_EQ(Parse("run plan.json").plan_file, "plan.json");
  EXPECT_EQ(Parse("fixture show set.json q01").command, Command::kFixtureShow);
  EXPECT_EQ(Parse("fixture show set.json q01").fixture_id, "q01");
  EXPECT_THAT(Parse("fixture check a.json b.json").files, ElementsAre("a.json", "b.json"));
  const Options make = Parse(
      "fixture make a.txt b.jsonl --tokenizer dir --output o.json --role long --top-k 7 "
      "--max-new-tokens 16 --add-special-tokens");
  EXPECT_EQ(make.command, Command::kFixtureMake);
  EXPECT_THAT(make.fixture_make.texts, ElementsAre("a.txt", "b.jsonl"));
  EXPECT_EQ(make.fixture_make.tokenizer, "dir");
  EXPECT_EQ(make.fixture_make.output, "o.json");
  EXPECT_EQ(make.fixture_make.defaults.role, FixtureRole::kLong);
  EXPECT_EQ(make.fixture_make.defaults.sampling.top_k, 7);
  EXPECT_EQ(make.fixture_make.defaults.max_new_tokens, 16);
  EXPECT_TRUE(make.fixture_make.add_special_tokens);
  EXPECT_TRUE(Parse("manifest --json").json);
}

TEST(Options, SupportLooksUpWhatIsDeclared) {
  const Options table = Parse("support --engine-name sglang --engine-version 0.5.6");
  EXPECT_EQ(table.command, Command::kSupport);
  EXPECT_FALSE(table.support.is_combination);
  const SupportQuery query =
      Parse("support --engine-name vllm --radix-cache off --tp-size 2 --default-mode --json")
          .support;
  EXPECT_TRUE(query.is_combination);
  EXPECT_FALSE(query.non_greedy);
  EXPECT_TRUE(query.json);
  std::string fields;
  for (const ManifestField& field : query.declared) {
    EXPECT_EQ(field.source, FieldSource::kDeclared);
    fields += field.name + '=' + field.value + ' ';
  }
  EXPECT_EQ(fields,
            "engine.name=vllm engine.radix_cache=off parallelism.tp_size=2 engine.mode=default ");
}

TEST(Options, CommandsOnReports) {
  const Options show = Parse("show r.json --junit a --markdown b --html c --color always");
  EXPECT_EQ(show.command, Command::kShow);
  EXPECT_EQ(show.file, "r.json");
  EXPECT_EQ(show.renderings.junit, "a");
  EXPECT_EQ(show.renderings.markdown, "b");
  EXPECT_EQ(show.renderings.html, "c");
  EXPECT_EQ(show.color, ColorWish::kAlways);
  const Options gate = Parse("gate a b --baseline g --annotations --quiet --junit x");
  EXPECT_EQ(gate.command, Command::kGate);
  EXPECT_THAT(gate.files, ElementsAre("a", "b"));
  EXPECT_EQ(gate.baseline, "g");
  EXPECT_TRUE(gate.annotations);
  EXPECT_TRUE(gate.quiet);
  const Options diff = Parse("diff a b --allow-different-prompts");
  EXPECT_EQ(diff.command, Command::kDiff);
  EXPECT_THAT(diff.files, ElementsAre("a", "b"));
  EXPECT_TRUE(diff.allow_different_prompts);
  const Options replay = Parse("replay r.json --threads 2 --html c");
  EXPECT_EQ(replay.command, Command::kReplay);
  EXPECT_EQ(replay.file, "r.json");
  EXPECT_EQ(replay.target.embedded.num_threads, 2);
  EXPECT_EQ(replay.renderings.html, "c");
}

TEST(Options, HelpShowsEachDefaultAndEndsWithExamples) {
  const Options options = Parse("single --help");
  EXPECT_EQ(options.command, Command::kPrint);
  EXPECT_THAT(options.text, HasSubstr("Usage: detcheck single"));
  EXPECT_THAT(options.text, HasSubstr("[default: synthetic:tiny]"));
  EXPECT_THAT(options.text, HasSubstr("Target:"));
  EXPECT_THAT(options.text, HasSubstr("Examples:"));
  EXPECT_THAT(Parse("--version").text, testing::StartsWith("detcheck 0."));
}

struct BadLine {
  const char* line;
  const char* message;
};

class BadOptions : public testing::TestWithParam<BadLine> {};

TEST_P(BadOptions, AreUsageErrorsOfOneLine) {
  const Thrown thrown = ErrorOf([] { Parse(GetParam().line); });
  EXPECT_EQ(thrown.code, ErrorCode::kUsage);
  EXPECT_EQ(thrown.message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Lines, BadOptions,
    testing::Values(
        BadLine{"", "A subcommand is required; see detcheck --help"},
        BadLine{
            "frob",
            "frob: no such command; there are single, batch, mixed, prefix, radix_cache, p_vs_d, "
            "seeds, history, all, "
            "run, fixture, manifest, support, show, gate, diff, replay, merge, serve"},
        BadLine{"single --frob",
                "The following argument was not expected: --frob; see detcheck --help"},
        BadLine{"single extra",
                "The following argument was not expected: extra; see detcheck --help"},
        BadLine{"single batch",
                "The following argument was not expected: batch; see detcheck --help"},
        BadLine{"fixture", "A subcommand is required; see detcheck --help"},
        BadLine{"run", "FILE is required; see detcheck --help"},
        BadLine{"gate", "REPORT is required; see detcheck --help"},
        BadLine{"diff a", "diff: needs two reports"},
        BadLine{"diff a b c", "diff: needs two reports"},
        BadLine{"gate a --html b",
                "The following argument was not expected: --html; see detcheck --help"},
        BadLine{"single --report", "--report: needs a value"},
        BadLine{"single --report a --html ./a", "--html ./a: a would be written over"},
        BadLine{"replay a --report b/../a", "--report b/../a: a would be written over"},
        BadLine{"show a --markdown a", "--markdown a: a would be written over"},
        BadLine{"gate a --baseline b --junit b", "--junit b: b would be written over"},
        BadLine{"single --endpoint http://127.0.0.1:2 --endpoint http://127.0.0.1:2/",
                "--endpoint http://127.0.0.1:2/: given twice; replicas are different servers"},
        BadLine{"single --report ''", "--report '': nothing is given"},
        BadLine{"single --n-trials 1 --n-trials 2", "--n-trials: given twice"},
        BadLine{"single --n-trials 0", "--n-trials 0: not a whole number from 1 to 1000000"},
        BadLine{"single --n-trials -1", "--n-trials -1: not a whole number from 1 to 1000000"},
        BadLine{"single --n-trials=-1", "--n-trials -1: not a whole number from 1 to 1000000"},
        BadLine{"single --n-trials 2x", "--n-trials 2x: not a whole number from 1 to 1000000"},
        BadLine{"single --sampling-seed -5",
                "--sampling-seed -5: not a whole number from 0 to 9007199254740992"},
        BadLine{"single --random-seed -1",
                "--random-seed -1: not a whole number from 0 to 9007199254740992"},
        BadLine{"single --plan-seed 18446744073709551616",
                "--plan-seed 18446744073709551616: not a whole number from 0 to 9007199254740992"},
        BadLine{"single --temperature nan", "--temperature nan: not a finite number of 0 or more"},
        BadLine{"single --temperature -0.5",
                "--temperature -0.5: not a finite number of 0 or more"},
        BadLine{"single --top-p 0", "--top-p 0: leaves no token to choose"},
        BadLine{"single --top-p 1.5", "--top-p 1.5: not a number from 0 to 1"},
        BadLine{"single --top-k 0", "--top-k 0: not a whole number from 1 to 16777216"},
        BadLine{"single --min-p 2", "--min-p 2: not a number from 0 to 1"},
        BadLine{"single --batch-sizes ,",
                "--batch-sizes ,: not whole numbers from 1 to 4096 between commas"},
        BadLine{"single --batch-sizes ''", "--batch-sizes '': nothing is given"},
        BadLine{"single --dtype int8", "--dtype int8: not one of bf16|f16|f32"},
        BadLine{"single --engine gpu", "--engine gpu: not one of auto|cpu|cuda"},
        BadLine{"single --profile slow", "--profile slow: not one of quick|default|full"},
        BadLine{"single --budget 0", "--budget 0: not a number from 0.001 to 1e+09"},
        BadLine{"single --allow-inconclusive single",
                "--allow-inconclusive single: not MODE:REASON"},
        BadLine{"single --allow-inconclusive frob:x",
                "--allow-inconclusive frob:x: not MODE:REASON"},
        BadLine{"single --resume", "--resume: needs the --report FILE of the run to go on with"},
        BadLine{"single --plan p.json",
                "--plan: goes with --dry-run; a report keeps its plan anyway"}));

}  // namespace
}  // namespace detcheck
