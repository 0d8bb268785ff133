// What the Hugging Face library made of texts (make_golden.py), without it.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/tokenizer/tokenizer.h"
#include "engine/tokenizer/tokenizer_json.h"

namespace detcheck {
namespace {

using Json = nlohmann::json;

Json ReadJson(const std::string& name) {
  std::ifstream file(std::string(DETCHECK_GOLDEN_DIR) + "/" + name);
  return Json::parse(file);
}

Json WithChanges(Json tree, const Json& changes) {
  for (const auto& [name, value] : changes.items()) {
    const std::string in_model = "model.";
    if (name.starts_with(in_model)) {
      tree["model"][name.substr(in_model.size())] = value;
    } else {
      tree[name] = value;
    }
  }
  return tree;
}

/// As the library gives it: U+FFFD for what is no UTF-8, such as the byte that the decoder takes
/// the "é" of an added token for.
Json LibraryText(const std::string& bytes) {
  return Json::parse(Json(bytes).dump(-1, ' ', false, Json::error_handler_t::replace));
}

void ExpectAnswer(const Tokenizer& tokenizer, const Json& answer) {
  const std::string text = answer["text"];
  const std::vector<TokenId> ids = answer["ids"];
  EXPECT_EQ(tokenizer.Encode(text), ids);
  EXPECT_EQ(tokenizer.Encode(text, Tokenizer::AddSpecial::kYes), answer["with_special"]);
  EXPECT_EQ(LibraryText(tokenizer.Decode(ids, Tokenizer::SpecialText::kKeep)), answer["decoded"]);
  EXPECT_EQ(LibraryText(tokenizer.Decode(ids, Tokenizer::SpecialText::kLeaveOut)),
            answer["without_special"]);
}

TEST(GoldenTokenizer, GivesTheLibrarysIdsAndTexts) {
  const Json tiny = ReadJson("tiny.json");
  int num_answers = 0;
  for (const Json& variant : ReadJson("cases.json")) {
    SCOPED_TRACE(variant["name"]);
    const Json tree = WithChanges(tiny, variant["changes"]);
    const Tokenizer tokenizer(ParseTokenizerJson(tree.dump(), "tiny.json"));
    for (const Json& answer : variant["answers"]) {
      SCOPED_TRACE(answer["text"]);
      ExpectAnswer(tokenizer, answer);
      ++num_answers;
    }
  }
  EXPECT_GT(num_answers, 200);
}

TEST(GoldenTokenizer, MergesOfEitherSpellingAreTheSame) {
  Json tree = ReadJson("tiny.json");
  const Tokenizer pairs(ParseTokenizerJson(tree.dump(), "tiny.json"));
  for (Json& merge : tree["model"]["merges"]) {
    ASSERT_TRUE(merge.is_array());
    merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  }
  const Tokenizer texts(ParseTokenizerJson(tree.dump(), "tiny.json"));
  const std::string text = "The spelling of merges makes no difference.";
  EXPECT_EQ(texts.Encode(text), pairs.Encode(text));
  EXPECT_LT(pairs.Encode(text).size(), text.size());
}

// A text that is cut anywhere, and streamed token by token, comes out as it was.
TEST(GoldenTokenizer, StreamsWholeCharacters) {
  const Tokenizer tokenizer(ParseTokenizerJson(ReadJson("tiny.json").dump(), "tiny.json"));
  const std::string text = "naïve 世界 👍🏽 \U0010FFFF end<|end|>";
  TextStream stream(tokenizer, Tokenizer::SpecialText::kKeep);
  std::string streamed;
  bool held_something = false;
  for (const TokenId id : tokenizer.Encode(text)) {
    const std::string part = stream.Push(id);
    held_something = held_something || part.empty();
    const bool begins_inside =
        !part.empty() && (static_cast<unsigned char>(part[0]) & 0xC0) == 0x80;
    EXPECT_FALSE(begins_inside) << part;
    streamed += part;
  }
  EXPECT_TRUE(held_something);
  EXPECT_EQ(stream.Finish(), "");
  EXPECT_EQ(streamed, text);
}

TEST(GoldenTokenizer, StreamKeepsWhatIsNoCharacter) {
  const Tokenizer tokenizer(ParseTokenizerJson(ReadJson("tiny.json").dump(), "tiny.json"));
  const std::vector<TokenId> ids = tokenizer.Encode("\u4e16!");  // E4 B8 96, each a token.
  ASSERT_EQ(ids.size(), 4u);
  TextStream stream(tokenizer, Tokenizer::SpecialText::kKeep);
  EXPECT_EQ(stream.Push(ids[0]), "");
  EXPECT_EQ(stream.Push(ids[3]), "\xE4!") << "nothing can make it a character any more";
  EXPECT_EQ(stream.Push(ids[0]), "");
  EXPECT_EQ(stream.Push(ids[1]), "");
  EXPECT_EQ(stream.Finish(), "\xE4\xB8");
  EXPECT_EQ(stream.Push(ids[2]), "\x96");
  EXPECT_EQ(tokenizer.Decode(std::vector<TokenId>{-1, 1 << 30}, Tokenizer::SpecialText::kKeep), "");
}

}  // namespace
}  // namespace detcheck
