// Every mode has a fake that obeys and one that breaks exactly its property; and there are fakes
// that make trouble. Each row says which modes must give which verdict.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/cli/testing.h"

namespace detcheck {
namespace {

using Modes = std::set<Mode>;

constexpr Mode kSingle = Mode::kSingle;
constexpr Mode kBatch = Mode::kBatch;
constexpr Mode kMixed = Mode::kMixed;
constexpr Mode kPrefix = Mode::kPrefix;
constexpr Mode kRadixCache = Mode::kRadixCache;
constexpr Mode kPvsD = Mode::kPvsD;
constexpr Mode kSeeds = Mode::kSeeds;
constexpr Mode kHistory = Mode::kHistory;

struct Row {
  const char* name = "";
  Fault fault = Fault::kNone;
  Modes failing;
  Modes inconclusive;
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

class FaultTable : public testing::TestWithParam<Row> {};

std::map<Mode, Verdict> Verdicts(const Judgement& judgement) {
  std::map<Mode, Verdict> verdicts;
  for (const ModeJudgement& mode : judgement.modes) verdicts[mode.mode] = mode.verdict;
  return verdicts;
}

Judgement JudgeAll(const FakeOptions& options, CriterionKind criterion) {
  FakeBackend backend(options);
  const Plan plan = QuickPlan(AllModes(), options, criterion);
  const TestRun run = RunPlan(plan, &backend);
  EXPECT_EQ(run.end, RunEnd::kComplete);
  return Judge(plan, run.transcript);
}

std::string ReasonsOf(const Judgement& judgement) {
  std::string text;
  for (const ModeJudgement& mode : judgement.modes) {
    for (const std::string& reason : mode.reasons) {
      text += ToString(mode.mode) + ": " + reason + '\n';
    }
  }
  return text;
}

TEST_P(FaultTable, ExactlyTheRightModesFail) {
  FakeOptions options;
  options.fault = GetParam().fault;
  const Judgement judgement = JudgeAll(options, CriterionKind::kBitwise);
  std::map<Mode, Verdict> expected;
  for (const Mode mode : AllModes()) {
    expected[mode] = GetParam().failing.contains(mode)        ? Verdict::kFail
                     : GetParam().inconclusive.contains(mode) ? Verdict::kInconclusive
                                                              : Verdict::kPass;
  }
  EXPECT_EQ(Verdicts(judgement), expected) << ReasonsOf(judgement);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, FaultTable,
    testing::Values(
        Row{"None", Fault::kNone, {}, {}},
        // One property each.
        Row{"Copies", Fault::kCopies, {kSingle, kSeeds}, {}},
        Row{"Neighbours", Fault::kNeighbours, {kBatch, kSeeds}, {}},
        Row{"ItemIndex", Fault::kItemIndex, {kBatch, kSeeds}, {}},
        Row{"NeighbourPrefill", Fault::kNeighbourPrefill, {kMixed}, {}},
        Row{"SharedPrefix", Fault::kSharedPrefix, {kPrefix}, {}},
        Row{"CachedAlone", Fault::kCachedAlone, {kRadixCache}, {}},
        Row{"ScoreDrift", Fault::kScoreDrift, {kPvsD}, {}},
        Row{"ScoreRandom", Fault::kScoreRandom, {kPvsD}, {}},
        Row{"SeedIgnored", Fault::kSeedIgnored, {kSeeds}, {}},
        Row{"NeighbourTopK", Fault::kNeighbourTopK, {kSeeds}, {}},
        Row{"AfterAborts", Fault::kAfterAborts, {kHistory}, {}},
        Row{"AfterRestart", Fault::kAfterRestart, {kHistory}, {}},
        // Several properties at once.
        Row{"BatchSize", Fault::kBatchSize, {kSingle, kBatch, kMixed, kPrefix, kSeeds}, {}},
        Row{"LogprobDrift", Fault::kLogprobDrift, {kSingle, kBatch, kMixed, kPrefix, kSeeds}, {}},
        Row{"CachedTokens", Fault::kCachedTokens, {kPrefix, kRadixCache}, {}},
        Row{"Random", Fault::kRandom, Modes(AllModes().begin(), AllModes().end()), {}},
        Row{"FirstRun", Fault::kFirstRun, {kSingle, kHistory}, {}},
        Row{"AskedTracing", Fault::kAskedTracing, Modes(AllModes().begin(), AllModes().end()), {}},
        // Conditions that do not come about.
        Row{"Serialised",
            Fault::kSerialised,
            {},
            {kSingle, kBatch, kMixed, kPrefix, kSeeds, kHistory}},
        Row{"NoBatchWitness",
            Fault::kNoBatchWitness,
            {},
            {kSingle, kBatch, kMixed, kPrefix, kSeeds, kHistory}},
        Row{"CacheNeverHits", Fault::kCacheNeverHits, {}, {kRadixCache}},
        Row{"CachedCountLies", Fault::kCachedCountLies, {}, {kRadixCache}},
        Row{"FlushRefused", Fault::kFlushRefused, {}, {kPrefix, kRadixCache}},
        Row{"FlushLies", Fault::kFlushLies, {}, {kRadixCache}},
        // What takes how long.
        Row{"ResponseCache",
            Fault::kResponseCache,
            {},
            Modes(AllModes().begin(), AllModes().end())},
        Row{"SlowFirstToken", Fault::kSlowFirstToken, {}, {}},
        Row{"Compiles", Fault::kCompiles, {}, {}},
        // Failures that a second attempt mends.
        Row{"ErrorCompletions", Fault::kErrorCompletions, {}, {}},
        Row{"Throws", Fault::kThrows, {}, {}}),
    [](const testing::TestParamInfo<Row>& row) { return std::string(row.param.name); });

TEST(Faults, LogprobDriftIsNoFailureOfTokens) {
  FakeOptions options;
  options.fault = Fault::kLogprobDrift;
  for (const auto& [mode, verdict] : Verdicts(JudgeAll(options, CriterionKind::kTokenIds))) {
    EXPECT_EQ(verdict, mode == kPvsD ? Verdict::kUnsupported : Verdict::kPass) << ToString(mode);
  }
}

TEST(Faults, AResponseCacheIsConfirmedByASaltedCopy) {
  FakeOptions options;
  options.fault = Fault::kResponseCache;
  for (const ModeJudgement& mode : JudgeAll(options, CriterionKind::kBitwise).modes) {
    std::vector<std::string> reasons;
    for (const RequestJudgement& request : mode.requests) {
      reasons.insert(reasons.end(), request.reasons.begin(), request.reasons.end());
    }
    EXPECT_THAT(reasons, testing::Contains(testing::HasSubstr("per token of a salted copy")))
        << ToString(mode.mode);
  }
}

TEST(Faults, HistoryNamesTheTraffic) {
  const auto condition_of = [](Fault fault) {
    FakeOptions options;
    options.fault = fault;
    FakeBackend backend(options);
    const Plan plan = QuickPlan({kHistory}, options);
    return Judge(plan, RunPlan(plan, &backend).transcript).modes[0].requests[0].condition;
  };
  EXPECT_EQ(condition_of(Fault::kAfterAborts), "after aborted requests only");
  EXPECT_EQ(condition_of(Fault::kAfterRestart), "after a restart only");
}

TEST(Faults, CausesAreToldApart) {
  const auto cause_of = [](Fault fault, Mode mode) {
    FakeOptions options;
    options.fault = fault;
    FakeBackend backend(options);
    const Plan plan = QuickPlan({mode}, options);
    const Judgement judgement = Judge(plan, RunPlan(plan, &backend).transcript);
    std::set<Cause> causes;
    for (const RequestJudgement& request : judgement.modes[0].requests) {
      if (request.verdict == Verdict::kFail) causes.insert(request.cause);
    }
    return causes;
  };
  EXPECT_THAT(cause_of(Fault::kRandom, kSingle), testing::ElementsAre(Cause::kNotRepeatable));
  EXPECT_THAT(cause_of(Fault::kFirstRun, kSingle), testing::ElementsAre(Cause::kFirstRunOnly));
  EXPECT_THAT(cause_of(Fault::kLogprobDrift, kSingle), testing::ElementsAre(Cause::kNumeric));
  EXPECT_THAT(cause_of(Fault::kCachedAlone, kRadixCache), testing::Contains(Cause::kPrefixCache));
  EXPECT_THAT(cause_of(Fault::kScoreDrift, kPvsD), testing::ElementsAre(Cause::kNumeric));
  EXPECT_THAT(cause_of(Fault::kScoreRandom, kPvsD), testing::ElementsAre(Cause::kNotRepeatable));
  EXPECT_THAT(cause_of(Fault::kSeedIgnored, kSeeds), testing::ElementsAre(Cause::kSampling));
}

}  // namespace
}  // namespace detcheck
