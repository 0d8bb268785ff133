#include "cli/fixture_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "fixtures/file_io.h"
#include "tests/cli/testing.h"

namespace detcheck {
namespace {

using testing::HasSubstr;

std::string SetText(const std::string& id, const std::string& prompt_ids) {
  return R"({"schema": "detcheck.fixtures/1", "name": "mine", "description": "", "origin": "",
    "license": "CC0-1.0", "tokenizer": null, "vocab_size": 100000, "fixtures": [
    {"id": ")" +
         id + R"(", "role": "subject", "prompt_ids": [)" + prompt_ids + "]}]}";
}

TEST(FixtureChoice, ShippedSetsFillEveryRole) {
  const ChosenFixtures chosen = ChooseFixtures({}, "synthetic:tiny");
  EXPECT_GE(chosen.fixtures.subjects.size(), 16u);
  EXPECT_FALSE(chosen.fixtures.neighbours.empty());
  EXPECT_FALSE(chosen.fixtures.long_prompts.empty());
  EXPECT_FALSE(chosen.fixtures.family_parts.empty());
  EXPECT_TRUE(chosen.subject_ids.empty());
}

TEST(FixtureChoice, ASetReplacesTheShippedOneOfItsRole) {
  TempFolder folder;
  WriteFileAtomically(folder.Path("mine.json"), SetText("m1", "1, 2, 3"));
  const ChosenFixtures chosen = ChooseFixtures({folder.Path("mine.json")}, "synthetic:tiny");
  ASSERT_EQ(chosen.fixtures.subjects.size(), 1u);
  EXPECT_EQ(chosen.fixtures.subjects[0].id, "m1");
  EXPECT_FALSE(chosen.fixtures.neighbours.empty());
}

TEST(FixtureChoice, WhatIsNoSetIsASubject) {
  const ChosenFixtures chosen = ChooseFixtures({"q03", "q01"}, "synthetic:tiny");
  EXPECT_THAT(chosen.subject_ids, testing::ElementsAre("q03", "q01"));
  const Thrown thrown = ErrorOf([] { ChooseFixtures({"q99"}, "synthetic:tiny"); });
  EXPECT_EQ(thrown.code, ErrorCode::kUsage);
  EXPECT_THAT(thrown.message, HasSubstr("--fixture q99: no file, no shipped set"));
}

TEST(FixtureChoice, ASetIsFoundWithAndWithoutItsEdition) {
  EXPECT_EQ(LoadSet("short-questions", "any").fixtures[0].prompt_ids,
            LoadSet("short-questions.any", "smollm2").fixtures[0].prompt_ids);
  EXPECT_NE(LoadSet("short-questions", "any").fixtures[0].prompt_ids,
            LoadSet("short-questions", "smollm2").fixtures[0].prompt_ids);
}

TEST(FixtureChoice, TheEditionFollowsTheTokenizer) {
  TempFolder folder;
  EXPECT_EQ(EditionFor("synthetic:tiny"), "any");
  WriteFileAtomically(folder.Path("tokenizer.json"), "{}");
  EXPECT_EQ(EditionFor(folder.Path("")), "any");
}

TEST(FixtureChoice, WhatTheTargetCannotTakeIsNamed) {
  TempFolder folder;
  const std::string path = folder.Path("mine.json");
  WriteFileAtomically(path, SetText("m1", "1, 2, 99999, 3"));
  const ChosenFixtures chosen = ChooseFixtures({path}, "synthetic:tiny");
  TargetFacts facts;
  facts.vocab_size = 32000;
  EXPECT_EQ(
      ErrorOf([&] { RequireFits(chosen, facts, 0); }).message,
      path + ": fixture m1: prompt_ids[2]: 99999 is outside the target's vocabulary of 32000");
  facts.vocab_size = 100000;
  facts.context_len = 20;
  EXPECT_EQ(ErrorOf([&] { RequireFits(chosen, facts, 17); }).message,
            path +
                ": fixture m1: a prompt of 4 tokens and an answer of 17 are longer than the "
                "target's context of 20");
  RequireFits(chosen, facts, 16);
}

}  // namespace
}  // namespace detcheck
