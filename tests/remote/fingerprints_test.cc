#include "engine/remote/fingerprints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace detcheck {
namespace {

using testing::HasSubstr;

std::string TextOf(const std::vector<std::string>& told) {
  Fingerprints fingerprints;
  for (const std::string& one : told) fingerprints.Note(one);
  return fingerprints.Text();
}

TEST(Fingerprints, ChangesAreTold) {
  EXPECT_EQ(TextOf({}), "");
  EXPECT_EQ(TextOf({"a", "", "a"}), "a");
  EXPECT_EQ(TextOf({"a", "b", "b", "a"}), "a -> b -> a");
}

TEST(Fingerprints, OneThatEndsAnotherIsAnother) {
  EXPECT_EQ(TextOf({"weights v12", "v12"}), "weights v12 -> v12");
  EXPECT_EQ(TextOf({"build-2", "2"}), "build-2 -> 2");
}

TEST(Fingerprints, ABackendThatChangesWithEachAnswerIsNotListedForEver) {
  std::vector<std::string> told;
  for (int i = 0; i < 1000; ++i) told.insert(told.end(), {"a", "b"});
  EXPECT_LT(TextOf(told).size(), 100U);
  EXPECT_THAT(TextOf(told), HasSubstr("1999 changes"));
  told.emplace_back("a");
  EXPECT_THAT(TextOf(told), HasSubstr("2000 changes"));
}

}  // namespace
}  // namespace detcheck
