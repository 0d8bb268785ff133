#include "engine/server/text_codec.h"

#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/embedded/synthetic_text.h"

namespace detcheck {
namespace {

TEST(SyntheticCodecTest, EveryTextOfTheTableIsEncodedExactly) {
  constexpr int kVocab = 151936;
  const auto codec = MakeSyntheticCodec(kVocab);
  std::vector<TokenId> ids;
  for (TokenId id = 0; id < kVocab; id += 7) {
    if (id != kSyntheticTwinB) ids.push_back(id);
  }
  for (const TokenId id : {99, 100, 10099, 10100, kVocab - 1}) ids.push_back(id);
  EXPECT_EQ(codec->Encode(DecodeSynthetic(ids), /*add_special=*/true), ids);
  EXPECT_EQ(codec->BytesOf(std::span(ids), /*skip_special=*/true), DecodeSynthetic(ids));
}

TEST(SyntheticCodecTest, OfTwoTokensThatReadAlikeTheLowerOneIsGiven) {
  const auto codec = MakeSyntheticCodec(32000);
  const std::vector<TokenId> twins = {kSyntheticTwinB, 5};
  EXPECT_EQ(codec->Encode(DecodeSynthetic(twins), false),
            (std::vector<TokenId>{kSyntheticTwinA, 5}));
}

TEST(SyntheticCodecTest, OtherTextsAreRefusedWithTheirPlace) {
  const auto codec = MakeSyntheticCodec(32000);
  for (const char* text :
       {"ba", " ", " b", " baX", " ba Tell", " babababa", "  ba", " ba  be", " zuzuzu", "\n"}) {
    EXPECT_THROW(codec->Encode(text, false), Error) << text;
  }
  try {
    codec->Encode(" ba be Tell", false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInput);
    EXPECT_EQ(std::string(error.what()).substr(0, 6), "byte 6");
  }
}

TEST(PrintableTextTest, WhatIsNoCharacterIsReplaced) {
  EXPECT_EQ(PrintableText("a\xff"
                          "b",
                          true),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(PrintableText("\xe2\x82"
                          "A",
                          true),
            "\xef\xbf\xbd"
            "A");  // One for a cut character.
  EXPECT_EQ(PrintableText("\xe2\x82\xac", true), "\xe2\x82\xac");
  EXPECT_EQ(PrintableText("\xe2\x82", true), "\xef\xbf\xbd");
}

TEST(PrintableTextTest, TheBeginningOfACharacterIsHeldBack) {
  EXPECT_EQ(PrintableText("a\xe2\x82", false), "a");
  EXPECT_EQ(PrintableText("a\xf0\x9f\x98", false), "a");
  EXPECT_EQ(PrintableText("a\xe0", false), "a");
  EXPECT_EQ(PrintableText("a\xc0", false), "a\xef\xbf\xbd");  // Can become none.
}

TEST(PrintableTextTest, TheTextOfMoreBytesBeginsWithThatOfFewer) {
  const std::string bytes =
      "\xf0\x9f\x98\x80\xe2\x82\xff\xed\xa0\x80\xc3\xa9z\xf4\x8f\xbf\xbf\xf0\x90";
  std::string before;
  for (size_t len = 1; len <= bytes.size(); ++len) {
    const std::string text = PrintableText(bytes.substr(0, len), false);
    EXPECT_TRUE(text.starts_with(before)) << len;
    before = text;
  }
  EXPECT_TRUE(PrintableText(bytes, true).starts_with(before));
}

}  // namespace
}  // namespace detcheck
