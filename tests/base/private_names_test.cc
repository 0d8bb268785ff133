#include "engine/base/private_names.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace detcheck {
namespace {

class PrivateNamesTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("USER", "alice-w", 1); }
  void TearDown() override { unsetenv("USER"); }
};

TEST_F(PrivateNamesTest, TheUsersNameGoesWhereItIsAWord) {
  EXPECT_EQ(WithoutPrivateNames("alice-w's model of alice-w"), "(private)'s model of (private)");
  EXPECT_EQ(WithoutPrivateNames("alice-wonderland"), "alice-wonderland");
  EXPECT_EQ(WithoutPrivateNames(""), "");
  setenv("USER", "al", 1);
  EXPECT_EQ(WithoutPrivateNames("al dente"), "al dente") << "too short to tell from a word";
}

TEST_F(PrivateNamesTest, TheHostsNameGoes) {
  setenv("HOSTNAME", "node7-internal", 1);
  EXPECT_EQ(WithoutPaths("connect to node7-internal:30000"), "connect to (private):30000");
  unsetenv("HOSTNAME");
}

TEST_F(PrivateNamesTest, OfAPathTheLastPartStays) {
  EXPECT_EQ(PublicName("/home/alice-w/models/tiny/"), "tiny");
  EXPECT_EQ(PublicName("tiny"), "tiny");
  EXPECT_EQ(PublicName("/home/alice-w"), "(private)");
  EXPECT_EQ(PublicName("https://alice-w:secret@host/v1"), "v1");
  EXPECT_EQ(PublicName("/"), "");
}

TEST_F(PrivateNamesTest, PathsInATextAreCutToTheirLastPart) {
  EXPECT_EQ(WithoutPaths("/home/bob/m/a.safetensors: tensor b: missing"),
            "a.safetensors: tensor b: missing");
  EXPECT_EQ(WithoutPaths("cannot open '~/x y' or \"./z\""), "cannot open 'x y' or \"z\"");
  EXPECT_EQ(WithoutPaths("models/bob/config.json: not JSON"), "config.json: not JSON");
  EXPECT_EQ(WithoutPaths("7 tokens/s (and/or 3)"), "7 tokens/s (and/or 3)");
  EXPECT_EQ(WithoutPaths("https://bob:key@host:30000/generate refused"), "generate refused");
  EXPECT_EQ(WithoutPaths("of alice-w, at /a/alice-w"), "of (private), at (private)");
}

}  // namespace
}  // namespace detcheck
