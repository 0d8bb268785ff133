// What a run says of each scope word, from constructed transcripts.

#include "reports/scope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/reports/rich_report.h"
#include "tests/reports/run_builder.h"

namespace detcheck {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const Completion kAnswer = Says({1, 2, 3, 4});
const Completion kOther = WithLogprob(Says({1, 2, 9, 4}), 1, -0.4);

WordScope WordOf(const Scope& scope, ScopeWord word) {
  return scope.words.at(static_cast<size_t>(word));
}

WordScope WordOf(const RunBuilder& run, ScopeWord word) {
  return WordOf(ReportOf(run).scope, word);
}

// The values of an axis as "2:3 4:1", each with its n; "-" where the axis is not told.
std::string ValuesOf(const WordScope& word, const std::string& axis) {
  for (const ScopeAxis& told : word.varied) {
    if (told.name != axis) continue;
    std::string text;
    for (const ScopeAxis::Value& value : told.values) {
      text += (text.empty() ? "" : " ") +
              (value.word.empty() ? std::to_string(value.value) : value.word) + ":" +
              std::to_string(value.n);
    }
    return text;
  }
  return "-";
}

RunBuilder InMode(Mode mode) {
  RunBuilder run;
  run.plan().modes.clear();
  run.BeginMode(mode);
  run.Solos(5, Arm::kControlCold, kAnswer);
  return run;
}

// A step of two items of which the second arrives later, and the attempt that shows it.
void AddArrival(int neighbour_prefill, RunBuilder* run) {
  Completion answer = kAnswer;
  answer.witness.same_step_prefill_tokens = neighbour_prefill;
  run->Batch({answer, kAnswer});
  Step& step = run->LastStep();
  step.axes = {{"neighbour_prefill", neighbour_prefill}};
  step.items[1].release = {Release::Kind::kAfterTokens, 0, 2};
}

TEST(Scope, EveryWordIsThereInItsOrder) {
  const Scope scope = ReportOf(SteadyRun(kAnswer)).scope;
  std::vector<ScopeWord> words;
  for (const WordScope& word : scope.words) words.push_back(word.word);
  EXPECT_EQ(words, AllScopeWords());
  for (const WordScope& word : scope.words) EXPECT_EQ(word.n == 0, !word.why_not.empty());
}

TEST(Scope, RunToRunCountsRepeats) {
  const WordScope word = WordOf(SteadyRun(kAnswer), ScopeWord::kRunToRun);
  EXPECT_EQ(word.n, 4);
  EXPECT_EQ(ValuesOf(word, "control_samples"), "5:1");
  EXPECT_EQ(word.bound,
            "up to 52.7 % of such repeats could still diverge (95 % confidence, 4 repeats); says "
            "nothing about other starts of the server");
}

TEST(Scope, BatchCountsDistinctBatchesOfFormedSizes) {
  RunBuilder run = SteadyRun(kAnswer);
  run.Batch({kAnswer, kAnswer, kAnswer, kAnswer});  // As one before it.
  run.Batch(std::vector<Completion>(16, kAnswer));
  run.LastStep().evidence = {};
  for (Completion& answer : run.LastRecord().completions) answer.witness.formed_size = 12;
  const WordScope word = WordOf(run, ScopeWord::kBatch);
  EXPECT_EQ(word.n, 4);
  EXPECT_EQ(ValuesOf(word, "formed_size"), "2:1 4:1 8:1 12:1");
  EXPECT_EQ(word.modes, std::vector<Mode>{Mode::kSingle});
  EXPECT_THAT(word.bound, HasSubstr("4 distinct batches"));
}

TEST(Scope, ABatchThatNeverFormedTestsNothing) {
  RunBuilder run = InMode(Mode::kSingle);
  run.Batch(std::vector<Completion>(8, kAnswer));
  for (Completion& answer : run.LastRecord().completions) answer.witness.formed_size = 1;
  const Report report = ReportOf(run);
  const WordScope word = WordOf(report.scope, ScopeWord::kBatch);
  EXPECT_EQ(word.n, 0);
  EXPECT_EQ(word.why_not, "no step of single that counts shows it");
  EXPECT_THAT(report.scope.not_tested, Contains("single: 1 of 6 steps never counted"));
  ASSERT_EQ(report.scope.voided.size(), 1U);
  EXPECT_EQ(report.scope.voided[0].step, 5);
  EXPECT_THAT(report.scope.voided[0].why, HasSubstr("formed size 1 of 8"));
}

TEST(Scope, NoWitnessNoBatch) {
  RunBuilder run = InMode(Mode::kSingle);
  run.Batch({kAnswer, kAnswer});
  run.LastStep().evidence = {};
  for (Completion& answer : run.LastRecord().completions) answer.witness.formed_size.reset();
  EXPECT_EQ(WordOf(run, ScopeWord::kBatch).n, 0);
}

TEST(Scope, ArrivalIsNotBatch) {
  RunBuilder run = InMode(Mode::kMixed);
  AddArrival(16, &run);
  AddArrival(257, &run);
  const WordScope word = WordOf(run, ScopeWord::kArrival);
  EXPECT_EQ(word.n, 2);
  EXPECT_EQ(ValuesOf(word, "neighbour_prefill"), "16:1 257:1");
  EXPECT_EQ(ValuesOf(word, "same_step_prefill"), "16:1 257:1");
  EXPECT_EQ(WordOf(run, ScopeWord::kBatch).n, 0);
}

TEST(Scope, PrefixCacheTellsCachedTokens) {
  RunBuilder run = InMode(Mode::kRadixCache);
  for (const int cached : {4, 8, 8}) {
    run.Solo(Arm::kVaried, Cached(kAnswer, cached), CacheState::kShared);
    run.LastStep().axes.push_back({"shared_tokens", cached + 1});
  }
  const WordScope word = WordOf(run, ScopeWord::kPrefixCache);
  EXPECT_EQ(word.n, 2);
  EXPECT_EQ(ValuesOf(word, "cached_tokens"), "4:1 8:1");
  EXPECT_EQ(ValuesOf(word, "shared_tokens"), "5:1 9:1");
}

TEST(Scope, WarmThatNothingWitnessedIsNotTested) {
  RunBuilder run = InMode(Mode::kRadixCache);
  Completion untold = kAnswer;
  untold.witness.cached_tokens.reset();
  run.Solo(Arm::kVaried, untold, CacheState::kWarm);
  EXPECT_EQ(WordOf(run, ScopeWord::kPrefixCache).n, 0);
}

TEST(Scope, SamplingNeedsTemperature) {
  RunBuilder run = SteadyRun(kAnswer);
  EXPECT_EQ(WordOf(run, ScopeWord::kSampling).why_not, "seeds was not asked for");
  run.plan().requests[0].sampling.temperature = 0.8;
  const WordScope word = WordOf(run, ScopeWord::kSampling);
  EXPECT_EQ(word.n, 4);
  EXPECT_EQ(ValuesOf(word, "seed"), "42:4");
}

TEST(Scope, HistoryNamesTrafficAndLeavesRestartsOut) {
  RunBuilder run = InMode(Mode::kHistory);
  for (const int traffic : {1, 3, 5}) {
    run.Solo(Arm::kVaried, kAnswer);
    run.LastStep().axes = {{"history", traffic}};
    run.LastRecord().engine_steps = {{0, 1, {{0, 12, false}}}, {1, 3, {{0, 1, true}}}};
  }
  run.LastRecord().launch = 1;
  const Report report = ReportOf(run);
  const WordScope history = WordOf(report.scope, ScopeWord::kHistory);
  EXPECT_EQ(history.n, 2);
  EXPECT_EQ(ValuesOf(history, "history"), "a large batch:1 aborted requests:1");
  EXPECT_THAT(history.bound, Not(HasSubstr("other starts")));
  const WordScope restart = WordOf(report.scope, ScopeWord::kRestart);
  EXPECT_EQ(restart.n, 1);
  EXPECT_EQ(ValuesOf(restart, "launch"), "1:1");
  EXPECT_THAT(restart.bound, HasSubstr("1 other start)"));
}

TEST(Scope, AResumedRunTestsARestart) {
  RunBuilder run = SteadyRun(kAnswer);
  run.Solos(2, Arm::kControlCold, kAnswer);
  run.transcript().records.back().launch = 1;
  EXPECT_EQ(WordOf(run, ScopeWord::kRestart).n, 1);
}

TEST(Scope, NoBoundWhereSomethingDidNotPass) {
  RunBuilder run = SteadyRun(kAnswer);
  run.Batch({kAnswer, kOther});
  EXPECT_EQ(WordOf(run, ScopeWord::kBatch).bound, "");
  EXPECT_NE(WordOf(run, ScopeWord::kRunToRun).bound, "");
  run.Solo(Arm::kRecheck, kOther);
  EXPECT_EQ(WordOf(run, ScopeWord::kRunToRun).bound, "");
}

TEST(Scope, SaysWhyAWordIsNotTested) {
  RunBuilder run = SteadyRun(kAnswer);
  run.plan().unplanned.push_back({Mode::kRadixCache, "the prefix cache is off"});
  const Report report = ReportOf(run);
  const auto why = [&](ScopeWord word) { return WordOf(report.scope, word).why_not; };
  EXPECT_EQ(why(ScopeWord::kPrefixCache), "radix_cache: the prefix cache is off");
  EXPECT_EQ(why(ScopeWord::kArrival), "mixed was not asked for");
  EXPECT_EQ(why(ScopeWord::kReplica), "one target was asked");
  EXPECT_THAT(why(ScopeWord::kGpuToGpu), HasSubstr("one device was asked"));
}

TEST(Scope, HoldsForWhatTheManifestNames) {
  Report report = ReportOf(SteadyRun(kAnswer));
  report.subject = {{"engine.name", "sglang", FieldSource::kObserved},
                    {"engine.radix_cache", "on", FieldSource::kObserved},
                    {"model.id", "org/model", FieldSource::kClaimed},
                    {"model.revision", "", FieldSource::kUnknown},
                    {"device.gpu_name", "a GPU", FieldSource::kDeclared}};
  JudgeReport(&report);
  EXPECT_THAT(
      report.scope.holds_for,
      ElementsAre(ScopeFact{"engine.name", "sglang"}, ScopeFact{"model.id", "org/model (claimed)"},
                  ScopeFact{"device.gpu_name", "a GPU (declared)"}));
}

TEST(Scope, IsReadBackAsItWasWritten) {
  const Report report = RichReport();
  const Report back = ReportFromJson(ReportToJson(report), "r.json");
  EXPECT_EQ(back.scope.words, report.scope.words);
  EXPECT_EQ(back.scope.held, report.scope.held);
  EXPECT_EQ(back.scope.holds_for, report.scope.holds_for);
  EXPECT_EQ(back.scope.not_tested, report.scope.not_tested);
  EXPECT_EQ(back.scope.notes, report.scope.notes);
  ASSERT_EQ(back.scope.voided.size(), report.scope.voided.size());
  EXPECT_GT(report.scope.voided.size(), 0U);
}

TEST(RequiredScope, ThatIsNotCoveredIsInconclusive) {
  RunBuilder run = SteadyRun(kAnswer);
  run.plan().required_scope = {ScopeWord::kBatch, ScopeWord::kPrefixCache, ScopeWord::kReplica};
  const Judgement judgement = run.Judge();
  EXPECT_EQ(judgement.verdict, Verdict::kInconclusive);
  EXPECT_THAT(judgement.reasons,
              ElementsAre("the required scope prefix_cache is not tested: radix_cache, prefix were "
                          "not asked for",
                          "the required scope replica is not tested: one target was asked"));
}

TEST(RequiredScope, ThatIsCoveredPasses) {
  RunBuilder run = SteadyRun(kAnswer);
  run.plan().required_scope = {ScopeWord::kRunToRun, ScopeWord::kBatch};
  EXPECT_EQ(run.Judge().verdict, Verdict::kPass);
  EXPECT_THAT(run.Judge().reasons, IsEmpty());
}

TEST(RequiredScope, DoesNotHideAFailure) {
  RunBuilder run = SteadyRun(kAnswer);
  run.Batch({kAnswer, kOther});
  run.plan().required_scope = {ScopeWord::kRestart};
  EXPECT_EQ(run.Judge().verdict, Verdict::kFail);
}

TEST(ScopeWords, AreParsedStrictly) {
  EXPECT_EQ(ParseScopeWords("prefix_cache,batch"),
            (std::vector<ScopeWord>{ScopeWord::kBatch, ScopeWord::kPrefixCache}));
  for (const char* list : {"", "batch,", "batch,batch", "Batch", "batch prefix_cache", "cache"}) {
    EXPECT_ANY_THROW(ParseScopeWords(list)) << list;
  }
}

// Which modes are heard: see ModeJudgement::decides.
RunBuilder WithPrefillThatDiffers(bool named) {
  RunBuilder run = SteadyRun(kAnswer);
  run.BeginMode(Mode::kPvsD);
  run.Solos(2, Arm::kControlCold, kAnswer);
  const int request = run.AddRequest("q01+answer");
  const int last = static_cast<int>(run.plan().steps.size()) - 1;
  run.plan().requests[request].prompt = {PromptSlice{0, 0, 12}, AnswerSlice{last, 0, 0, 4}};
  Step step;
  step.kind = StepKind::kScore;
  step.mode = Mode::kPvsD;
  step.score_request = request;
  StepRecord record;
  record.scores.assign(15, {-0.75, {}});
  run.Add(step, record).Add(step, record);
  run.plan().modes_named = named;
  return run;
}

TEST(Decides, PrefillCountsWhereNamedOrClaimed) {
  const RunBuilder unnamed = WithPrefillThatDiffers(false);
  const Judgement judgement = unnamed.Judge();
  EXPECT_EQ(judgement.modes[1].verdict, Verdict::kFail);
  EXPECT_FALSE(judgement.modes[1].decides);
  EXPECT_TRUE(judgement.modes[0].decides);
  EXPECT_EQ(judgement.verdict, Verdict::kPass);
  EXPECT_THAT(judgement.notes, Contains(HasSubstr("p_vs_d does not decide")));
  const Manifest claims = {{"engine.mode", "deterministic", FieldSource::kObserved}};
  EXPECT_EQ(Judge(unnamed.plan(), unnamed.transcript(), claims).verdict, Verdict::kFail);
  EXPECT_EQ(WithPrefillThatDiffers(true).Judge().verdict, Verdict::kFail);
}

TEST(Decides, TheOnlyModeIsNamed) {
  RunBuilder run = WithPrefillThatDiffers(false);
  run.plan().modes = {Mode::kPvsD};
  EXPECT_EQ(run.Judge().verdict, Verdict::kFail);
}

TEST(Decides, UnsupportedCountsWhereNamed) {
  RunBuilder run = SteadyRun(kAnswer);
  run.plan().unplanned.push_back({Mode::kRadixCache, "the prefix cache is off"});
  EXPECT_EQ(run.Judge().verdict, Verdict::kPass);
  run.plan().modes_named = true;
  EXPECT_EQ(run.Judge().verdict, Verdict::kUnsupported);
}

TEST(Decides, NoneThatDoesIsNoPass) {
  RunBuilder run = WithPrefillThatDiffers(false);
  run.plan().modes = {Mode::kPvsD};
  run.plan().unplanned = {{Mode::kSingle, "why"}};
  const Judgement judgement = run.Judge();
  EXPECT_EQ(judgement.verdict, Verdict::kInconclusive);
  EXPECT_THAT(judgement.reasons, Contains("no mode that decides was run"));
  run.plan().modes.clear();
  EXPECT_EQ(run.Judge().verdict, Verdict::kUnsupported);
}

}  // namespace
}  // namespace detcheck
