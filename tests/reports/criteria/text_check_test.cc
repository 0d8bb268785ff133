#include "reports/criteria/text_check.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/reports/run_builder.h"

namespace detcheck {
namespace {

std::atomic<bool> never = false;

// Notes what it is asked.
class NotingCheck : public TextCheck {
 public:
  TextFinding Check(const std::string& text) override {
    asked.push_back(text);
    return {text == "good" ? Validity::kValid : Validity::kInvalid, ""};
  }
  std::vector<std::string> asked;
};

Completion WithText(Completion answer, const std::string& text) {
  answer.text = text;
  return answer;
}

TEST(TextCheck, CriteriaOnSingleTextsHaveOne) {
  for (const char* text : {"bitwise", "token_ids", "text"}) {
    EXPECT_EQ(MakeTextCheck(ParseCriterion(text), never), nullptr);
  }
  EXPECT_NE(MakeTextCheck(ParseCriterion("regex:a"), never), nullptr);
  EXPECT_NE(MakeTextCheck(ParseCriterion("command:true"), never), nullptr);
}

TEST(TextCheck, EachDistinctTextOfAWholeJudgedAnswerIsLookedAtOnce) {
  RunBuilder run;
  run.Solos(2, Arm::kControlCold, WithText(Says({1, 2}), "good"));
  run.Solo(Arm::kPrepare, WithText(Says({1, 2}), "prepared"));
  run.Batch({WithText(Says({1, 3}), "bad"), WithText(Says({4}), "good"), Says({5}),
             WithText(Aborted(Says({1, 2}), 1), "go"), WithText(Broken("gone"), "g")});
  NotingCheck check;
  const TextFindings findings = CheckTexts(run.plan(), run.transcript(), &check);
  EXPECT_EQ(check.asked, (std::vector<std::string>{"good", "bad"}));
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings.at("good").validity, Validity::kValid);
  EXPECT_EQ(findings.at("bad").validity, Validity::kInvalid);
  EXPECT_TRUE(CheckTexts(run.plan(), run.transcript(), nullptr).empty());
}

}  // namespace
}  // namespace detcheck
