#include "reports/replica.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "reports/annotations.h"
#include "reports/console.h"
#include "reports/diff.h"
#include "reports/html.h"
#include "reports/junit.h"
#include "reports/markdown.h"
#include "reports/report.h"
#include "tests/reports/golden.h"
#include "tests/reports/rich_report.h"
#include "tests/reports/run_builder.h"
#include "tests/reports/text_answers.h"

namespace detcheck {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Completion kAnswer = Says({1, 2, 3, 4, 5, 6, 7, 8});
const Completion kOther = WithLogprob(Says({1, 2, 3, 900, 5, 6, 7, 8}), 2, -0.53125);

const ModeJudgement& Across(const Report& report) {
  return report.judgement.modes.back();
}

Report Rejudged(Report report, const std::function<void(Report*)>& change) {
  change(&report);
  JudgeReport(&report);
  return report;
}

TEST(ReplicaJudgement, TwoThatAgreePass) {
  const Report report = ReplicaReport(kAnswer, kAnswer);
  EXPECT_EQ(report.judgement.verdict, Verdict::kPass);
  ASSERT_EQ(report.judgement.modes.size(), 3u);
  EXPECT_EQ(report.judgement.modes[0].replica, 0);
  EXPECT_EQ(report.judgement.modes[1].replica, 1);
  EXPECT_TRUE(Across(report).across_replicas);
  const RequestJudgement& own = report.judgement.modes[1].requests[0];
  EXPECT_EQ(own.total_samples, 19);
  EXPECT_EQ(own.reference->record, 8) << "the second replica's first record";
  const RequestJudgement& all = Across(report).requests[0];
  EXPECT_EQ(all.total_samples, 38);
  EXPECT_EQ(all.unique_samples, 1);
  EXPECT_EQ(all.unique_traces, 1);
  const WordScope& word = report.scope.words[static_cast<size_t>(ScopeWord::kReplica)];
  EXPECT_EQ(word.n, 1);
  EXPECT_THAT(word.modes, ElementsAre(Mode::kSingle));
}

TEST(ReplicaJudgement, OneThatDiffersInTokensFails) {
  const Report report = ReplicaReport(kAnswer, kOther);
  EXPECT_EQ(report.judgement.verdict, Verdict::kFail);
  EXPECT_EQ(report.judgement.modes[0].verdict, Verdict::kPass) << "each by itself is steady";
  EXPECT_EQ(report.judgement.modes[1].verdict, Verdict::kPass);
  const RequestJudgement& request = Across(report).requests[0];
  EXPECT_EQ(request.verdict, Verdict::kFail);
  EXPECT_EQ(request.cause, Cause::kNumeric);
  EXPECT_EQ(request.condition_kind, ConditionKind::kReplica);
  EXPECT_EQ(request.condition, "on replica 2, not on replica 1");
  EXPECT_EQ(request.unique_samples, 2);
  EXPECT_THAT(request.sample_counts, ElementsAre(19, 19));
  ASSERT_EQ(request.divergences.size(), 1u);
  EXPECT_EQ(request.divergences[0].index, 3);
  EXPECT_EQ(request.divergences[0].num_samples, 19);
  EXPECT_EQ(request.divergences[0].actual.record, 8);
  EXPECT_THAT(request.reasons, Contains("nothing that they tell of themselves explains it"));
  EXPECT_TRUE(FoundNondeterminism(report.judgement));
}

TEST(ReplicaJudgement, LogprobsAloneFailByBitsAndPassByTokens) {
  const Completion drifted = WithLogprob(kAnswer, 2, -0.50000001);
  EXPECT_EQ(ReplicaReport(kAnswer, drifted).judgement.verdict, Verdict::kFail);
  const Report report = Rejudged(ReplicaReport(kAnswer, drifted), [](Report* r) {
    r->plan.criterion.kind = CriterionKind::kTokenIds;
  });
  EXPECT_EQ(report.judgement.verdict, Verdict::kPass);
  ASSERT_EQ(Across(report).requests[0].divergences.size(), 1u) << "shown all the same";
  EXPECT_FALSE(Across(report).requests[0].divergences[0].breaks_criterion);
  EXPECT_EQ(Across(report).requests[0].unique_traces, 2);
}

// One server gives token IDs, another of an earlier release text alone.
TEST(ReplicaJudgement, WhereSomeGiveTextAloneTextsAreCompared) {
  Completion with_ids = kAnswer;
  with_ids.text = "The quick fox";
  const Completion same = Writes({"The ", "quick ", "fox"});
  const Completion other = Writes({"The ", "slow ", "fox"});
  const Report pass = ReplicaReport(with_ids, same);
  EXPECT_EQ(Across(pass).verdict, Verdict::kPass);
  EXPECT_EQ(Across(pass).requests[0].identity, TokenIdentity::kText);
  EXPECT_EQ(Across(pass).requests[0].unique_samples, 1);
  EXPECT_THAT(Across(pass).notes, Contains(HasSubstr("compared by text")));

  const Report fail = ReplicaReport(with_ids, other);
  EXPECT_EQ(Across(fail).verdict, Verdict::kFail);
  EXPECT_EQ(Across(fail).requests[0].unique_samples, 2);
  EXPECT_EQ(Across(fail).requests[0].divergences.at(0).text_offset, 4);
  Completion stopped = same;
  stopped.finish_reason = FinishReason::kStop;
  EXPECT_EQ(Across(ReplicaReport(with_ids, stopped)).verdict, Verdict::kFail);

  const auto by_ids = [](Report* r) { r->plan.criterion.kind = CriterionKind::kTokenIds; };
  EXPECT_EQ(Across(Rejudged(pass, by_ids)).verdict, Verdict::kInconclusive);
  const Report no_text = ReplicaReport(kAnswer, same);
  EXPECT_EQ(Across(no_text).verdict, Verdict::kInconclusive);
  EXPECT_THAT(Across(no_text).requests[0].reasons,
              Contains("one of replica 1 and replica 2 gives token IDs and the other text alone"));
}

TEST(ReplicaJudgement, LogprobsThatOneDoesNotGiveAreNoted) {
  const Report report = ReplicaReport(kAnswer, SaysOnly({1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(Across(report).verdict, Verdict::kPass);
  EXPECT_THAT(Across(report).notes,
              ElementsAre("criterion bitwise: no logprobs to compare of replica 2"));
}

// One that only failed is none that was tested.
TEST(ReplicaJudgement, TheScopeCountsThoseThatAnswered) {
  const Report report = Rejudged(ReplicaReport(kAnswer, kOther), [](Report* r) {
    r->replicas.push_back(r->replicas[1]);
    for (size_t i = 0; i < 8; ++i) {
      r->transcript.records.push_back(r->transcript.records[i]);
      r->transcript.records.back().replica = 2;
      for (Completion& answer : r->transcript.records.back().completions) answer = Broken("503");
    }
  });
  EXPECT_EQ(report.judgement.verdict, Verdict::kFail);
  EXPECT_EQ(report.scope.words[static_cast<size_t>(ScopeWord::kReplica)].n, 1);
}

TEST(ReplicaJudgement, FieldsThatDifferExplain) {
  const Report report = Rejudged(ReplicaReport(kAnswer, kOther), [](Report* r) {
    r->replicas[0].subject.push_back({"engine.commit", "abc", FieldSource::kClaimed});
    r->replicas[1].subject.push_back({"engine.commit", "def", FieldSource::kClaimed});
    r->replicas[0].subject.push_back({"process.start", "1", FieldSource::kClaimed});
    r->replicas[1].subject.push_back({"process.start", "2", FieldSource::kClaimed});
  });
  EXPECT_THAT(Across(report).requests[0].reasons,
              Contains("engine.commit is 'abc' on replica 1 and 'def' on replica 2, which can "
                       "explain it"));
}

TEST(ReplicaJudgement, PromptsThatAreCountedDifferentlyAreTheInput) {
  Completion longer = kOther;
  longer.prompt_tokens = 13;
  EXPECT_EQ(Across(ReplicaReport(kAnswer, longer)).requests[0].cause, Cause::kInput);
}

// No conclusion is drawn across from what does not repeat.
TEST(ReplicaJudgement, OneThatDoesNotRepeatFailsByItself) {
  const Report report = Rejudged(ReplicaReport(kAnswer, kAnswer), [](Report* r) {
    r->transcript.records[9].completions[0] = kOther;
    r->transcript.records[11].completions[0] = kOther;
  });
  EXPECT_EQ(report.judgement.verdict, Verdict::kFail);
  EXPECT_EQ(report.judgement.modes[0].verdict, Verdict::kPass);
  EXPECT_EQ(report.judgement.modes[1].requests[0].cause, Cause::kNotRepeatable);
  EXPECT_EQ(Across(report).verdict, Verdict::kInconclusive);
  EXPECT_THAT(Across(report).requests[0].reasons,
              Contains("replica 2 does not repeat its own answer"));
}

TEST(ReplicaJudgement, OneThatWasNotReachedTakesNothingFromTheOther) {
  const Report report = Rejudged(ReplicaReport(kAnswer, kAnswer), [](Report* r) {
    r->transcript.records.resize(8);
    r->replicas[1].subject.clear();
    r->replicas[1].ended_early = "target lost: refused";
    r->transcript.ended_early = "target lost: replica 2: refused";
    r->transcript.complete = false;
  });
  EXPECT_EQ(report.judgement.modes[0].verdict, Verdict::kPass);
  EXPECT_EQ(report.judgement.verdict, Verdict::kInconclusive);
  EXPECT_THAT(report.judgement.reasons,
              ElementsAre("replica 2: no step was run: target lost: refused"));
}

TEST(ReplicaJudgement, TheRequiredScopeIsAskedOfAllTogether) {
  const auto require = [](Report* r) { r->plan.required_scope = {ScopeWord::kReplica}; };
  EXPECT_EQ(Rejudged(ReplicaReport(kAnswer, kAnswer), require).judgement.verdict, Verdict::kPass);
  const Report alone = Rejudged(ReportOf(SteadyRun(kAnswer)), require);
  EXPECT_EQ(alone.judgement.verdict, Verdict::kInconclusive);
}

TEST(ReplicaJudgement, ReportsKeepAllOfIt) {
  const Report report = ReplicaReport(kAnswer, kOther);
  const std::string json = ReportToJson(report);
  const Report read = ReportFromJson(json, "r.json");
  EXPECT_EQ(ReportToJson(read), json);
  ASSERT_EQ(read.replicas.size(), 2u);
  EXPECT_EQ(read.transcript.records.back().replica, 1);
  EXPECT_EQ(ReportToJson(Rejudged(read, [](Report*) {})), json) << "judged anew it is the same";
}

TEST(ReplicaRenderings, EveryOneTellsReplicasApart) {
  const Report report = ReplicaReport(kAnswer, kOther);
  ExpectGolden("replicas.txt", RenderConsole(report, false));
  const std::vector<GateSuite> suites = SuitesOf(report, "");
  for (const std::string& text : {RenderJunit(suites), RenderAnnotations(suites)}) {
    EXPECT_THAT(text, HasSubstr("detcheck.single.replicas"));
  }
  EXPECT_THAT(RenderJunit(suites), HasSubstr("detcheck.single.replica-2"));
  EXPECT_THAT(RenderMarkdown(report, "", 100000), HasSubstr("| single, replica 2 | **pass**"));
  EXPECT_THAT(RenderMarkdown(report, "", 100000),
              HasSubstr("| single, across replicas | **fail**"));
  const std::string html = RenderHtml(report);
  EXPECT_THAT(html, HasSubstr("id=\"mode-single.replica-2\""));
  EXPECT_THAT(html, HasSubstr("A request gets the same answer on every replica."));
}

TEST(ReplicaDiff, EachReplicaIsHeldAgainstItself) {
  const Report same = ReplicaReport(kAnswer, kAnswer);
  const Report differs = ReplicaReport(kAnswer, kOther);
  EXPECT_FALSE(DiffReports(same, same).Differ());
  const ReportDiff diff = DiffReports(same, differs);
  ASSERT_EQ(diff.rows.size(), 2u);
  EXPECT_EQ(diff.rows[0].mode, "single, replica 2");
  EXPECT_EQ(diff.rows[1].mode, "single, across replicas");
  const ReportDiff from_one = DiffReports(ReportOf(SteadyRun(kAnswer)), same);
  EXPECT_EQ(from_one.num_compared, 1) << "the first replica stands for the only target";
}

TEST(ReplicaFacts, TheSmallerLimitsAndWhatAllCanDo) {
  std::vector<Replica> replicas(3);
  for (int i : {0, 1}) {
    replicas[i].subject = {{"engine.name", "x", FieldSource::kClaimed}};
    replicas[i].facts.page_size = 16;
    replicas[i].facts.context_len = 1000 - 100 * i;
    replicas[i].facts.capabilities.logprobs = true;
    replicas[i].facts.capabilities.flush = i == 0;
  }
  replicas[1].facts.vocab_size = 500;
  const TargetFacts common = CommonFacts(replicas);
  EXPECT_EQ(common.page_size, 16);
  EXPECT_EQ(common.context_len, 900);
  EXPECT_EQ(common.vocab_size, 500);
  EXPECT_TRUE(common.capabilities.logprobs);
  EXPECT_FALSE(common.capabilities.flush);
  EXPECT_EQ(FactsThatDiffer(replicas), "context 900, vocabulary 500, no flush");
  EXPECT_EQ(FactsThatDiffer({replicas[0], replicas[0]}), "");
}

TEST(ReplicaManifest, ValuesThatDifferAreAllTold) {
  std::vector<Replica> replicas(2);
  replicas[0].subject = {{"engine.name", "x", FieldSource::kClaimed},
                         {"engine.version", "1", FieldSource::kClaimed}};
  replicas[1].subject = {{"engine.name", "x", FieldSource::kClaimed}};
  const Manifest common = CommonSubject(replicas);
  EXPECT_EQ(common[0].value, "x");
  EXPECT_EQ(common[1].value, "replica 1: 1; replica 2: not known");
}

TEST(ReplicaTranscript, SplitAndJoinedIsTheSame) {
  Report report = ReplicaReport(kAnswer, kOther);
  report.transcript.identity = report.transcript.identity_after = "abc -";
  const size_t num_records = report.transcript.records.size();
  std::vector<Transcript> each = SplitByReplica(&report.transcript, report.replicas);
  EXPECT_THAT(report.transcript.records, IsEmpty());
  EXPECT_EQ(each[0].identity, "abc");
  EXPECT_EQ(each[1].identity, "");
  each[0].ended_early = "interrupted";
  each[1].ended_early = "target lost: refused";
  const Transcript joint = JoinReplicas(std::move(each));
  EXPECT_EQ(joint.records.size(), num_records);
  EXPECT_EQ(joint.identity, "abc -");
  EXPECT_EQ(joint.ended_early, "target lost: replica 2: refused");
  EXPECT_EQ(joint.records.back().replica, 1);
}

}  // namespace
}  // namespace detcheck
