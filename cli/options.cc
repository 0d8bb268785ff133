#include "cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/distinct_files.h"
#include "cli/option_adder.h"
#include "cli/plan_options.h"
#include "cli/remote_options.h"
#include "cli/run_options.h"
#include "cli/support_options.h"
#include "cli/target_options.h"
#include "cli/version.h"
#include "engine/base/error.h"
#include "fixtures/file_io.h"

namespace detcheck {
namespace {

/// All subcommands, and the adders that their options point to.
class Parser {
 public:
  explicit Parser(Options* options) : options_(options) {
    app_.name("detcheck");
    app_.description(
        "Checks that an LLM inference engine gives a request the same answer whatever "
        "runs\nbeside it, before it, or out of the cache.");
    app_.get_formatter()->column_width(40);
    app_.set_version_flag("--version", fmt::format("detcheck {}", Version()));
    app_.require_subcommand(1);
    app_.footer(kFooter);
    AddModes();
    AddRun();
    AddFixture();
    AddManifest();
    AddSupport();
    AddShow();
    AddGate();
    AddDiff();
    AddReplay();
    AddMerge();
    AddServe();
  }

  void Parse(int argc, const char* const* argv) {
    try {
      if (argc > 1) RequireCommand(argv[1]);
      app_.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      Print(app_.help());
    } catch (const CLI::CallForVersion& version) {
      Print(std::string(version.what()) + '\n');
    } catch (const CLI::ArgumentMismatch& error) {
      const std::string what = error.what();
      const bool is_missing = what.find("missing") != std::string::npos;
      throw Error(ErrorCode::kUsage, what.substr(0, what.find(':')) +
                                         (is_missing ? ": needs a value" : ": given twice"));
    } catch (const CLI::ParseError& error) {
      throw Error(ErrorCode::kUsage, OneLine(error.what()) + "; see detcheck --help");
    }
  }

 private:
  static constexpr char kFooter[] =
      "\nExamples:\n"
      "  detcheck single --enable-deterministic-inference\n"
      "  detcheck all --profile quick --report report.json\n"
      "  detcheck mixed --model models/smollm2-135m --fixture q03\n"
      "  detcheck single --dry-run --plan plan.json && detcheck run plan.json\n"
      "  detcheck run fixtures/protocols/release-gate.json --enable-deterministic-inference\n"
      "  detcheck serve --enable-deterministic-inference --port 30000\n"
      "  detcheck gate report.json --baseline golden.json --junit report.xml\n"
      "\nExit codes: 0 pass; 1 nondeterminism found, answers that are equally\n"
      "invalid, or reports differ; 2 usage or wrong input;\n"
      "3 inconclusive or unsupported; 4 could not finish; 130 interrupted.";

  /// A word in the command's place that is none: the library would only say that one is missing.
  void RequireCommand(const std::string& word) {
    std::string names;
    for (const CLI::App* command : app_.get_subcommands({})) {
      if (command->get_name() == word || word.starts_with('-')) return;
      names += (names.empty() ? "" : ", ") + command->get_name();
    }
    throw Error(ErrorCode::kUsage, OneLine(word) + ": no such command; there are " + names);
  }

  OptionAdder* Begin(CLI::App* parent, const std::string& name, const std::string& help,
                     const std::function<void()>& chosen) {
    CLI::App* app = parent->add_subcommand(name, help);
    app->callback(chosen);
    adders_.push_back(std::make_unique<OptionAdder>(app, &options_->arguments));
    return adders_.back().get();
  }

  void AddMode(const std::string& name, const std::string& help, const std::vector<Mode>& modes) {
    OptionAdder* add = Begin(&app_, name, help, [=, this] {
      Choose(Command::kModes, name);
      options_->settings.modes = modes;
    });
    AddTargetOptions(add, &options_->target);
    AddPlanOptions(add, options_);
    AddShard(add, options_);
    AddRunOptions(add, options_);
    AddOutputOptions(add, options_);
  }

  void AddModes() {
    AddMode("single", "the same prompt in batches of growing size", {Mode::kSingle});
    AddMode("batch", "the prompt among different short prompts", {Mode::kBatch});
    AddMode("mixed", "the prompt decoding while long prompts arrive", {Mode::kMixed});
    AddMode("prefix", "prompts that share prefixes, in one batch", {Mode::kPrefix});
    AddMode("radix_cache", "the prompt cold, warm and partly warm in the prefix cache",
            {Mode::kRadixCache});
    AddMode("p_vs_d", "logprobs of decoded tokens against those that prefill gives them",
            {Mode::kPvsD});
    AddMode("seeds", "the same seed repeats, different seeds differ", {Mode::kSeeds});
    AddMode("history", "the prompt on a fresh target and after other traffic", {Mode::kHistory});
    AddMode("all", "all of these; p_vs_d decides the exit code only where the target claims it",
            {Mode::kSingle, Mode::kBatch, Mode::kMixed, Mode::kPrefix, Mode::kRadixCache,
             Mode::kPvsD, Mode::kSeeds, Mode::kHistory});
  }

  void AddRun() {
    OptionAdder* add = Begin(&app_, "run", "run a saved plan, or a protocol",
                             [=, this] { Choose(Command::kRun, "run"); });
    add->Positional("FILE",
                    "a plan that --plan wrote, or a protocol: modes, fixtures,\ncriterion and "
                    "scope, declared before the run",
                    true, &options_->plan_file);
    AddTargetOptions(add, &options_->target);
    add->BeginGroup("What to run");
    AddShard(add, options_);
    AddRunOptions(add, options_);
    AddOutputOptions(add, options_);
  }

  void AddFixture() {
    CLI::App* fixture =
        app_.add_subcommand("fixture", "make fixtures, look at them, or check files");
    fixture->require_subcommand(1);
    OptionAdder* show = Begin(fixture, "show", "the fixtures of a set, or one of them whole",
                              [=, this] { Choose(Command::kFixtureShow, "fixture show"); });
    show->Positional("SET", "a file, or the name of a shipped set", true, &options_->file);
    show->Positional("ID", "a fixture of it", false, &options_->fixture_id);
    OptionAdder* check = Begin(fixture, "check", "whether files of fixtures are right",
                               [=, this] { Choose(Command::kFixtureCheck, "fixture check"); });
    check->Positionals("FILE", "files, or names of shipped sets", &options_->files);
    OptionAdder* make = Begin(fixture, "make", "fixtures from text, by a tokenizer",
                              [=, this] { Choose(Command::kFixtureMake, "fixture make"); });
    AddFixtureMakeOptions(make, &options_->fixture_make);
    AddRemoteOptions(make, &options_->target.remote, "let the tokenizer there do it", nullptr);
  }

  void AddManifest() {
    OptionAdder* add = Begin(&app_, "manifest", "what is tested, and with what",
                             [=, this] { Choose(Command::kManifest, "manifest"); });
    AddTargetOptions(add, &options_->target);
    add->BeginGroup("Output", OptionAdder::Noted::kNo);
    add->Flag("--json", "as JSON", [=, this] { options_->json = true; });
  }

  void AddSupport() {
    OptionAdder* add = Begin(&app_, "support", "what engines document of determinism",
                             [=, this] { Choose(Command::kSupport, "support"); });
    AddSupportOptions(add, &options_->support);
  }

  void AddShow() {
    OptionAdder* add = Begin(&app_, "show", "a report for a person, or in other formats",
                             [=, this] { Choose(Command::kShow, "show"); });
    add->Positional("REPORT", "a report that --report wrote", true, &options_->file);
    add->BeginGroup("Output", OptionAdder::Noted::kNo);
    AddRenderings(add, &options_->renderings);
    AddPage(add, &options_->renderings);
    AddColor(add, options_);
  }

  void AddGate() {
    OptionAdder* add = Begin(&app_, "gate", "judge reports for CI, by the exit code",
                             [=, this] { Choose(Command::kGate, "gate"); });
    add->Positionals("REPORT", "reports that --report wrote", &options_->files);
    add->BeginGroup("How to judge");
    add->Path("--baseline", "REPORT", "", "a golden report whose answers must be the same",
              [=, this](const std::string& text) { options_->baseline = text; });
    add->Path("--protocol", "FILE", "", "the protocol by which the reports must have been run",
              [=, this](const std::string& text) { options_->protocol = text; });
    AddAllowed(add, options_);
    add->BeginGroup("Output", OptionAdder::Noted::kNo);
    AddRenderings(add, &options_->renderings);
    add->Flag("--annotations", "print lines that GitHub shows as annotations",
              [=, this] { options_->annotations = true; });
    add->Flag("--quiet", "print annotations and errors only",
              [=, this] { options_->quiet = true; });
  }

  void AddDiff() {
    OptionAdder* add = Begin(&app_, "diff", "what changed from one report to another", [=, this] {
      if (options_->files.size() != 2) throw Error(ErrorCode::kUsage, "diff: needs two reports");
      Choose(Command::kDiff, "diff");
    });
    add->Positionals("REPORT", "two reports that --report wrote", &options_->files);
    add->Flag("--allow-different-prompts", "compare what they have in common",
              [=, this] { options_->allow_different_prompts = true; });
    add->Flag("--compare-changed-requests", "compare answers though sampling or limits changed",
              [=, this] { options_->compare_changed_requests = true; });
  }

  void AddReplay() {
    OptionAdder* add = Begin(&app_, "replay", "run a report's plan again, and compare with it",
                             [=, this] { Choose(Command::kReplay, "replay"); });
    add->Positional("REPORT", "a report that --report wrote", true, &options_->file);
    AddTargetOptions(add, &options_->target);
    AddRunOptions(add, options_);
    AddOutputOptions(add, options_);
  }

  void AddMerge() {
    OptionAdder* add =
        Begin(&app_, "merge", "put the reports of all shards of a plan together", [=, this] {
          if (options_->report.empty()) throw Error(ErrorCode::kUsage, "merge: needs -o FILE");
          Choose(Command::kMerge, "merge");
        });
    add->Positionals("REPORT", "one report of each shard (--shard), in any order",
                     &options_->files);
    AddAllowed(add, options_);
    add->BeginGroup("Output", OptionAdder::Noted::kNo);
    add->Path("-o,--report", "FILE", "", "the report of the whole plan (needed)",
              [=, this](const std::string& text) { options_->report = text; });
    AddRenderings(add, &options_->renderings);
    AddPage(add, &options_->renderings);
    add->Flag("--quiet", "print errors only", [=, this] { options_->quiet = true; });
    AddColor(add, options_);
  }

  void AddServe() {
    OptionAdder* add = Begin(&app_, "serve", "the embedded engine over HTTP, as SGLang and vLLM",
                             [=, this] { Choose(Command::kServe, "serve"); });
    AddEmbeddedTarget(add, &options_->target);
    ServeOptions* serve = &options_->serve;
    add->BeginGroup("Server", OptionAdder::Noted::kNo);
    add->Value("--host", "ADDRESS", serve->host,
               "address to listen on; the default is this machine",
               [=](const std::string& text) { serve->host = text; });
    add->Whole("--port", &serve->port, 0, 65535, std::to_string(serve->port),
               "0: any free one; the URL is printed");
    add->Value("--served-model-name", "NAME", "the model's", "what clients call the model",
               [=](const std::string& text) { serve->served_model_name = text; });
  }

  void Choose(Command command, const std::string& name) {
    options_->command = command;
    options_->arguments.insert(0, options_->arguments.empty() ? name : name + ' ');
  }

  void Print(const std::string& text) {
    options_->command = Command::kPrint;
    options_->text = text;
  }

  Options* options_;
  CLI::App app_;
  std::vector<std::unique_ptr<OptionAdder>> adders_;
};

// What single options cannot see.
void CheckTogether(const Options& options) {
  if (options.resume && options.report.empty()) {
    throw Error(ErrorCode::kUsage, "--resume: needs the --report FILE of the run to go on with");
  }
  RequireDistinctFiles(options);
  CheckRemoteOptions(options.target);
  if (options.command == Command::kFixtureMake) {
    CheckFixtureMakeOptions(options.fixture_make, options.target.remote);
  }
  if (!options.save_plan.empty() && !options.dry_run) {
    throw Error(ErrorCode::kUsage, "--plan: goes with --dry-run; a report keeps its plan anyway");
  }
}

}  // namespace

Options ParseOptions(int argc, const char* const* argv) {
  Options options;
  Parser(&options).Parse(argc, argv);
  CheckTogether(options);
  return options;
}

}  // namespace detcheck
