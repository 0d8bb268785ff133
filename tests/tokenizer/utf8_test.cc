#include "engine/tokenizer/utf8.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/base/utf8.h"

namespace detcheck {
namespace {

TEST(Utf8, WhatIsUnfinished) {
  EXPECT_EQ(UnfinishedUtf8Len(""), 0u);
  EXPECT_EQ(UnfinishedUtf8Len("abc"), 0u);
  EXPECT_EQ(UnfinishedUtf8Len("a\xE4"), 1u);
  EXPECT_EQ(UnfinishedUtf8Len("a\xE4\xB8"), 2u);
  EXPECT_EQ(UnfinishedUtf8Len("a\xE4\xB8\x96"), 0u) << "whole";
  EXPECT_EQ(UnfinishedUtf8Len("\xF0\x9F\x91"), 3u);
  EXPECT_EQ(UnfinishedUtf8Len("a\x80"), 0u) << "nothing begins with it";
  EXPECT_EQ(UnfinishedUtf8Len("\x80\x80\x80\x80"), 0u);
  EXPECT_EQ(UnfinishedUtf8Len("\xC3\xA4\xC0"), 0u) << "no first byte";
}

// Every two bytes: the beginning of a character exactly where some bytes after them make one.
TEST(Utf8, BeginningsOfTwoBytes) {
  for (int first = 0xC0; first < 0x100; ++first) {
    for (int second = 0x80; second < 0xC0; ++second) {
      const std::string begin = {static_cast<char>(first), static_cast<char>(second)};
      const bool may_end =
          Utf8SequenceLen(begin + "\x80") == 3 || Utf8SequenceLen(begin + "\x80\x80") == 4;
      EXPECT_EQ(UnfinishedUtf8Len(begin), may_end ? 2u : 0u) << first << ' ' << second;
    }
  }
}

TEST(Utf8, WhereItIsNone) {
  EXPECT_EQ(FindInvalidUtf8("12345678é世👍"), std::string::npos);
  EXPECT_EQ(FindInvalidUtf8("12345678é\xFFé"), 10u);
  EXPECT_EQ(FindInvalidUtf8("é\xC3"), 2u);
}

TEST(Utf8, Characters) {
  const std::string text = "aé世👍";
  std::u32string found;
  for (size_t at = 0; at < text.size();) {
    const Utf8Char character = Utf8CharAt(text, at);
    found += character.code_point;
    at += character.num_bytes;
  }
  EXPECT_EQ(found, U"aé世👍");
}

}  // namespace
}  // namespace detcheck
