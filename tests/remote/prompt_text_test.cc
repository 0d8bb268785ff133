// Prompts as text, for servers that take no token IDs.

#include "engine/remote/prompt_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"

namespace detcheck {
namespace {

using testing::HasSubstr;

const char* const kFile = DETCHECK_TINY_TOKENIZER;

Tokenizer Tiny() {
  return Tokenizer::Read(kFile);
}

std::vector<TokenId> IdsOf(const std::string& text) {
  return Tiny().Encode(text);
}

/// Its tokens one by one, so that none of them is merged with another.
std::vector<TokenId> Unmerged(const std::string& text) {
  std::vector<TokenId> ids;
  for (const char c : text) {
    const std::vector<TokenId> own = IdsOf(std::string(1, c));
    ids.insert(ids.end(), own.begin(), own.end());
  }
  return ids;
}

/// A server with the tokenizer of the file, that puts `added` in front of every text.
PromptTexts::AskServer Server(std::vector<TokenId> added) {
  return [added](const std::string& text) {
    std::vector<TokenId> ids = added;
    const std::vector<TokenId> own = IdsOf(text);
    ids.insert(ids.end(), own.begin(), own.end());
    return ids;
  };
}

TEST(PromptText, TextThatGivesTheIdsBack) {
  PromptTexts texts(kFile, {}, {});
  const PromptText& made = texts.TextOf(IdsOf("The rain, again."));
  EXPECT_EQ(made.why_not, "");
  EXPECT_EQ(made.text, "The rain, again.");
}

TEST(PromptText, TokensThatATextIsNotMadeOfAreNotSent) {
  PromptTexts texts(kFile, {}, {});
  const std::string text = "the rain";
  ASSERT_NE(Unmerged(text), IdsOf(text)) << "the tokenizer merges nothing here";
  EXPECT_THAT(texts.TextOf(Unmerged(text)).why_not, HasSubstr("gives others back: at position 0"));
}

TEST(PromptText, BytesThatAreNoTextAreNotSent) {
  PromptTexts texts(kFile, {}, {});
  std::vector<TokenId> half = IdsOf("é");
  ASSERT_GT(half.size(), 1U);
  half.pop_back();
  EXPECT_THAT(texts.TextOf(half).why_not, HasSubstr("not UTF-8"));
}

TEST(PromptText, TokensThatThereAreNotAreNotSent) {
  PromptTexts texts(kFile, {}, {});
  EXPECT_THAT(texts.TextOf({1 << 20}).why_not, HasSubstr("the tokenizer has no token 1048576"));
  EXPECT_THAT(texts.TextOf({-1}).why_not, HasSubstr("no token -1"));
  EXPECT_THAT(texts.TextOf({}).why_not, HasSubstr("ends"));
}

TEST(PromptText, WhatTheServerAddsIsLeftToIt) {
  PromptTexts told(kFile, {7}, {});
  PromptTexts asked(kFile, {}, Server({7}));
  std::vector<TokenId> ids = IdsOf("The rain");
  for (PromptTexts* texts : {&told, &asked}) {
    EXPECT_THAT(texts->TextOf(ids).why_not, HasSubstr("puts a token (7) in front of every text"));
  }
  ids.insert(ids.begin(), 7);
  for (PromptTexts* texts : {&told, &asked}) EXPECT_EQ(texts->TextOf(ids).text, "The rain");
}

TEST(PromptText, AServerWithAnotherTokenizerIsRefused) {
  const auto other = [](const std::string& text) {
    std::vector<TokenId> ids = IdsOf(text);
    ids.back() += 1;
    return ids;
  };
  try {
    PromptTexts texts(kFile, {}, other);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("the server makes other tokens of a text"));
  }
}

TEST(PromptText, EachPromptIsAskedOfTheServerOnce) {
  int num_asked = 0;
  const auto odd = [&](const std::string& text) {
    ++num_asked;
    std::vector<TokenId> ids = IdsOf(text);
    if (text.ends_with("?")) ids.pop_back();
    return ids;
  };
  PromptTexts texts(kFile, {}, odd);
  num_asked = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(texts.TextOf(IdsOf("Why?")).why_not,
                HasSubstr("the server makes other tokens of this prompt's text: at position "));
  }
  EXPECT_EQ(num_asked, 1);
}

TEST(PromptText, ATextThatTheServerRefusesIsNotSent) {
  bool refuses = false;
  PromptTexts texts(kFile, {}, [&](const std::string& text) {
    if (refuses) throw Error(ErrorCode::kInput, "the server: too long");
    return IdsOf(text);
  });
  refuses = true;
  EXPECT_THAT(texts.TextOf(IdsOf("Why")).why_not, HasSubstr("the server: too long"));
}

TEST(PromptText, SomePromptsOfALength) {
  PromptTexts texts(kFile, {7}, {});
  for (const int len : {8, 33, 129}) {
    const std::vector<TokenId> a = texts.SomePrompt(0, len);
    const std::vector<TokenId> b = texts.SomePrompt(5, len);
    EXPECT_EQ(a.size(), static_cast<size_t>(len));
    EXPECT_EQ(b.size(), static_cast<size_t>(len));
    EXPECT_NE(a, b);
    EXPECT_EQ(texts.TextOf(a).why_not + texts.TextOf(b).why_not, "");
  }
}

}  // namespace
}  // namespace detcheck
