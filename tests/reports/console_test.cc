// Golden files: tests/reports/golden/NAME.txt.

#include "reports/console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/golden.h"
#include "tests/reports/rich_report.h"
#include "tests/reports/verdict_reports.h"

namespace detcheck {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Completion kAnswer = Says({1, 2, 3, 4, 5, 6, 7, 8});

void ExpectConsole(const std::string& name, const Report& report) {
  ExpectGolden(name + ".txt", RenderConsole(report, false));
}

TEST(Console, Pass) {
  ExpectConsole("pass", ReportOf(SteadyRun(kAnswer)));
}

TEST(Console, TokensDiffer) {
  Completion answer = kAnswer;
  answer.text = "The quick brown fox jumps over";
  Completion other = WithLogprob(Says({1, 2, 3, 900, 5, 6, 7, 8}), 2, -0.53125);
  other.text = "The quick brown hare jumps over";
  RunBuilder run = SteadyRun(answer);
  std::vector<Completion> answers(16, answer);
  answers[3] = other;
  run.Batch(answers);
  ExpectConsole("tokens_differ", ReportOf(run));
}

TEST(Console, LogprobsDiffer) {
  RunBuilder run = SteadyRun(kAnswer);
  run.Batch(std::vector<Completion>(16, WithLogprob(kAnswer, 2, -0.50000001)));
  ExpectConsole("logprobs_differ", ReportOf(run));
}

TEST(Console, NotRepeatable) {
  RunBuilder run;
  run.Solos(3, Arm::kControlCold, kAnswer).Solo(Arm::kControlCold, SaysOnly({1, 2, 9}));
  ExpectConsole("not_repeatable", ReportOf(run));
}

TEST(Console, PrefixCache) {
  RunBuilder run;
  run.BeginMode(Mode::kRadixCache);
  run.plan().modes = {Mode::kRadixCache};
  run.Solos(5, Arm::kControlCold, kAnswer);
  const Completion warm = WithLogprob(Says({1, 2, 3, 4, 5, 900, 7, 8}), 1, -0.75);
  run.Solos(5, Arm::kControlWarm, Cached(warm, 8), CacheState::kWarm);
  ExpectConsole("prefix_cache", ReportOf(run));
}

TEST(Console, Inconclusive) {
  RunBuilder run = SteadyRun(kAnswer);
  run.Batch(std::vector<Completion>(33, kAnswer));
  for (Completion& answer : run.LastRecord().completions) answer.witness.formed_size = 8;
  run.plan().steps.push_back(run.BatchOf(64));
  run.plan().unplanned.push_back({Mode::kRadixCache, "the prefix cache is off"});
  run.plan().not_tested = {"prefix: shared prefix of 4097 tokens"};
  run.transcript().complete = false;
  run.transcript().ended_early = "budget of 60 s spent";
  ExpectConsole("inconclusive", ReportOf(run));
}

TEST(Console, Error) {
  RunBuilder run = SteadyRun(kAnswer);
  run.Batch({kAnswer, Broken("503 overloaded")});
  ExpectConsole("error", ReportOf(run));
}

TEST(Console, ManyFixturesAndCompany) {
  RunBuilder run = SteadyRun(kAnswer);
  for (int i = 2; i <= 40; ++i) {
    const int request = run.AddRequest("q" + std::to_string(i));
    run.Batch({kAnswer, kAnswer});
    for (PlannedItem& item : run.LastStep().items) item.request = request;
    run.LastRecord().prompt_digests.clear();
  }
  for (const TokenId last : {8, 9}) {
    run.Batch({kAnswer, Says({5, 5, last})});
    run.LastStep().items[1].request = run.AddRequest("n" + std::to_string(last));
    run.LastStep().items[1].subject = false;
  }
  ExpectConsole("many", ReportOf(run));
}

TEST(Console, ManyFailures) {
  RunBuilder run;
  for (int i = 1; i <= 5; ++i) {
    const int request = i == 1 ? 0 : run.AddRequest("q0" + std::to_string(i));
    run.Batch({kAnswer, WithLogprob(kAnswer, i, -0.25)});
    for (PlannedItem& item : run.LastStep().items) item.request = request;
    run.LastRecord().prompt_digests.clear();
  }
  ExpectConsole("many_failures", ReportOf(run));
}

TEST(Console, NeighbourDiverges) {
  RunBuilder run = SteadyRun(kAnswer);
  const int neighbour = run.AddRequest("n01");
  for (const TokenId last : {8, 9}) {
    run.Batch({kAnswer, Says({5, 5, last})});
    run.LastStep().items[1].request = neighbour;
    run.LastStep().items[1].subject = false;
    run.LastRecord().prompt_digests.clear();
  }
  ExpectConsole("neighbour", ReportOf(run));
}

TEST(Console, Unsupported) {
  ExpectConsole("unsupported", VerdictReport("unsupported"));
}

TEST(Console, Hostile) {
  ExpectConsole("hostile", VerdictReport("hostile"));
}

TEST(Console, ColourIsOnlyColour) {
  const Report report = ReportOf(SteadyRun(kAnswer));
  std::string coloured = RenderConsole(report, true);
  EXPECT_THAT(coloured, HasSubstr("\x1b[32mpass\x1b[0m"));
  for (size_t at; (at = coloured.find('\x1b')) != coloured.npos;) {
    coloured.erase(at, coloured.find('m', at) - at + 1);
  }
  EXPECT_EQ(coloured, RenderConsole(report, false));
}

TEST(Console, HostileTextStaysText) {
  Completion other = Says({1, 2, 3, 9});
  other.text =
      "\x1b]0;title\x07 \xC2\x9B"
      "31m \xFF\n";
  Completion answer = Says({1, 2, 3, 4});
  answer.text = "";
  RunBuilder run = SteadyRun(answer);
  run.Batch({answer, other});
  run.LastStep().label = "\x1b[2J";
  run.plan().requests[0].id = "a\nb";
  const std::string text = RenderConsole(ReportOf(run), false);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\xC2\x9B")));
  EXPECT_THAT(text, Not(HasSubstr("\xFF")));
  EXPECT_THAT(text, Not(HasSubstr("a\nb")));
  EXPECT_THAT(text, HasSubstr("a?b"));
}

}  // namespace
}  // namespace detcheck
