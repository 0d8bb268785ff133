#include "engine/base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace detcheck {
namespace {

TEST(Utf8Test, SequencesOfEachLength) {
  EXPECT_EQ(Utf8SequenceLen("a"), 1u);
  EXPECT_EQ(Utf8SequenceLen("é!"), 2u);
  EXPECT_EQ(Utf8SequenceLen("€!"), 3u);
  EXPECT_EQ(Utf8SequenceLen("😀!"), 4u);
}

TEST(Utf8Test, WhatIsNotUtf8) {
  for (const std::string text : {
           "\x80", "\xC1\xBF", "\xF5\x80\x80\x80",  // No lead byte.
           "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF",      // Overlong.
           "\xED\xA0\x80",                          // A surrogate.
           "\xF4\x90\x80\x80",                      // Above U+10FFFF.
           "\xE2\x82", "\xE2\x82!",                 // Cut short.
       }) {
    EXPECT_EQ(Utf8SequenceLen(text), 0u) << testing::PrintToString(text);
    EXPECT_FALSE(IsUtf8("twelve bytes" + text + "twelve bytes")) << testing::PrintToString(text);
  }
}

TEST(Utf8Test, WholeTextsAtEveryOffset) {
  for (size_t len = 0; len < 20; ++len) {
    EXPECT_TRUE(IsUtf8(std::string(len, 'a') + "€" + std::string(19 - len, 'b')));
    EXPECT_FALSE(IsUtf8(std::string(len, 'a') + "\xFF" + std::string(19 - len, 'b')));
  }
  EXPECT_TRUE(IsUtf8(""));
}

}  // namespace
}  // namespace detcheck
