// What is refused, each with one line that names file, place and fact; and hostile files.

#include "engine/tokenizer/tokenizer_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/error.h"
#include "engine/base/rng.h"
#include "engine/tokenizer/tokenizer.h"
#include "tests/fixtures/error_of.h"

namespace detcheck {
namespace {

using Json = nlohmann::json;

std::string TinyText() {
  std::ifstream file(std::string(DETCHECK_GOLDEN_DIR) + "/tiny.json");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Refusal(const std::string& text) {
  return ErrorOf([&] { ParseTokenizerJson(text, "t.json"); });
}

/// The refusal of the tiny file with the value at `pointer` replaced.
std::string RefusalWith(const std::string& pointer, const std::string& value) {
  Json tree = Json::parse(TinyText());
  tree[Json::json_pointer(pointer)] = Json::parse(value);
  return Refusal(tree.dump());
}

TEST(TokenizerJson, RefusesWhatIsNotSupported) {
  struct Case {
    const char* pointer;
    const char* value;
    const char* refusal;
  };
  const Case cases[] = {
      {"/version", R"("2.0")", R"(t.json: version: "2.0" is not "1.0")"},
      {"/truncation", R"({"max_length": 8})",
       "t.json: truncation: not supported: texts are taken whole"},
      {"/padding", "{}", "t.json: padding: not supported: texts are taken whole"},
      {"/extra", "1", R"(t.json: unknown field "extra")"},
      {"/normalizer", R"({"type": "Lowercase"})",
       R"(t.json: normalizer: type "Lowercase" is not supported; NFC and Sequence are)"},
      {"/normalizer", R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "NFKC"}]})",
       R"(t.json: normalizer.normalizers[1]: type "NFKC" is not supported; NFC and Sequence are)"},
      {"/pre_tokenizer", "null", "t.json: pre_tokenizer is missing"},
      {"/pre_tokenizer", R"({"type": "Metaspace", "replacement": "_"})",
       R"(t.json: pre_tokenizer: type "Metaspace" is not supported; Split, Digits, ByteLevel and )"
       "Sequence are"},
      {"/pre_tokenizer", R"({"type": "Digits", "individual_digits": true})",
       "t.json: pre_tokenizer: has no ByteLevel: only byte-level BPE is supported"},
      {"/pre_tokenizer/use_regex", "1", "t.json: pre_tokenizer.use_regex: 1 is not true or false"},
      {"/decoder", R"({"type": "WordPiece"})",
       R"(t.json: decoder: type "WordPiece" is not supported; ByteLevel is)"},
      {"/post_processor", R"({"type": "BertProcessing", "sep": ["a", 1], "cls": ["b", 2]})",
       R"(t.json: post_processor: type "BertProcessing" is not supported; TemplateProcessing, )"
       "ByteLevel and Sequence are"},
      {"/post_processor/single/0/SpecialToken/id", R"("<x>")",
       R"(t.json: post_processor.single[0].SpecialToken.id: "<x>" is not in special_tokens)"},
      {"/post_processor/single/0", R"({"Sequence": {"id": "B", "type_id": 0}})",
       "t.json: post_processor.single[0].Sequence.id: the template is not of one text"},
      {"/model/type", R"("Unigram")", R"(t.json: model.type: "Unigram" is not supported; BPE is)"},
      {"/model/byte_fallback", "true",
       "t.json: model.byte_fallback: true is not supported: not byte-level BPE"},
      {"/model/dropout", "0.1",
       "t.json: model.dropout: not supported: the same text would get other IDs each time"},
      {"/model/end_of_word_suffix", R"("</w>")",
       "t.json: model.end_of_word_suffix: not supported: not byte-level BPE"},
      {"/model/vocab", "{}", "t.json: model.vocab: is not an object of tokens"},
      {"/model/vocab/a", "-1", R"(t.json: model.vocab: "a": -1 is not an ID)"},
      {"/model/vocab/a", "1.5", R"(t.json: model.vocab: "a": 1.5 is not an ID)"},
      {"/model/merges/3", R"("a b c")",
       "t.json: model.merges[3]: is spelled unlike the merges before it"},
      {"/model/merges", R"(["a b c"])",
       R"(t.json: model.merges[0]: "a b c" is not a pair of tokens)"},
      {"/model/merges/3", R"(["a", "zzz"])",
       R"(t.json: model.merges[3]: "zzz" is not in the vocabulary)"},
      {"/added_tokens/0/id", "7",
       R"(t.json: added_tokens[0].id: 7, but "<|end|>" gets the ID 0 from the vocabulary)"},
      {"/added_tokens/0/content", R"("")", "t.json: added_tokens[0].content: is empty"},
      {"/added_tokens/0/content", R"("<new>")",
       R"(t.json: added_tokens[0].id: 0, but "<new>" gets the ID 420, the next one)"},
      {"/added_tokens/0/lstrip", "null", "t.json: added_tokens[0]: lstrip is missing"},
  };
  for (const Case& bad : cases) {
    EXPECT_EQ(RefusalWith(bad.pointer, bad.value), bad.refusal) << bad.pointer;
  }
}

TEST(TokenizerJson, RefusesPatternsWhoseMeaningMightDiffer) {
  const auto refusal = [](const std::string& pattern) {
    const Json split = {{"type", "Split"},
                        {"pattern", {{"Regex", pattern}}},
                        {"behavior", "Isolated"},
                        {"invert", false}};
    Json tree = Json::parse(TinyText());
    const Json byte_level = tree["pre_tokenizer"];
    tree["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {split, byte_level}}};
    std::string text = Refusal(tree.dump());
    const std::string place = "t.json: pre_tokenizer.pretokenizers[0].pattern.Regex: ";
    EXPECT_TRUE(text.starts_with(place)) << text;
    return text.substr(place.size());
  };
  EXPECT_EQ(refusal(R"(a|\w+)"), R"(at byte 2: "\w" is not supported)");
  EXPECT_EQ(refusal("^a"), R"(at byte 0: "^" is not supported)");
  EXPECT_EQ(refusal("a."), R"(at byte 1: "." is not supported)");
  EXPECT_EQ(refusal(R"(\p{Han})"), R"(at byte 0: "\p{Han}" is not supported)");
  EXPECT_EQ(refusal("[a-z&&[^b]]"), R"(at byte 0: "[a-z&" is not supported)");
  EXPECT_EQ(refusal(R"([\s-x])"), R"(at byte 3: "-" is not supported)");
  EXPECT_EQ(refusal("(?>a)"), R"x(at byte 0: "(?>" is not supported)x");
  EXPECT_EQ(refusal("a{2}+"), R"(at byte 1: "{2}+" is not supported)");
  EXPECT_EQ(refusal("a{,2}"), R"(at byte 1: "{," is not supported)");
  EXPECT_EQ(refusal("(a"), "at byte 2: missing closing parenthesis");
  EXPECT_EQ(refusal("a*"), "may match an empty text, which is not supported");
}

TEST(TokenizerJson, APatternWithoutEndIsGivenUp) {
  Json tree = Json::parse(TinyText());
  const Json split = {{"type", "Split"},
                      {"pattern", {{"Regex", "(?:(?:a|a)+)+[bc]"}}},
                      {"behavior", "Isolated"},
                      {"invert", false}};
  const Json byte_level = tree["pre_tokenizer"];
  tree["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {split, byte_level}}};
  const Tokenizer tokenizer(ParseTokenizerJson(tree.dump(), "t.json"));
  EXPECT_THAT(ErrorOf([&] { tokenizer.Encode(std::string(60, 'a')); }),
              testing::StartsWith("the match was given up: "));
}

TEST(TokenizerJson, RefusesWhatIsNoJson) {
  EXPECT_EQ(Refusal(""), "t.json: byte 1: not valid JSON");
  EXPECT_EQ(Refusal("[]"), "t.json: a list is not an object");
  EXPECT_EQ(Refusal(R"({"model": {"vocab": {"a": 1, "a": 2}}})"), R"(t.json: "a" appears twice)");
  EXPECT_EQ(Refusal(std::string(100000, '[')), "t.json: more than 64 levels");
  EXPECT_EQ(Refusal("{\"a\": \"\xFF\"}"), "t.json: byte 8: not valid JSON");
  EXPECT_EQ(ErrorOf([] { Tokenizer::Read("/nowhere/tokenizer.json"); }),
            "/nowhere/tokenizer.json: cannot be read");
}

TEST(TokenizerJson, ACutFileIsRefused) {
  const std::string text = TinyText();
  for (size_t len = 0; len + 2 < text.size(); len += 97) {
    EXPECT_THAT(Refusal(text.substr(0, len)), testing::EndsWith("not valid JSON")) << len;
  }
}

// Whatever is changed in the file: an Error with the file's name, or a tokenizer that works.
TEST(TokenizerJson, AHostileFileIsAnErrorOrATokenizer) {
  const std::string text = TinyText();
  const std::string bytes = "{}[]\",:0123456789ntf-\\ e\xFF";
  int num_refused = 0;
  Rng rng(77);
  for (int i = 0; i < 300; ++i) {
    std::string changed = text;
    for (int k = 0; k < 1 + i % 4; ++k) {
      const uint64_t draw = rng.Next64();
      changed[draw % changed.size()] = bytes[(draw >> 40) % bytes.size()];
    }
    try {
      const Tokenizer tokenizer(ParseTokenizerJson(changed, "t.json"));
      tokenizer.Encode("Any text, 123 \xE4\xB8\x96.", Tokenizer::AddSpecial::kYes);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInput) << error.what();
      EXPECT_TRUE(std::string(error.what()).starts_with("t.json: ")) << error.what();
      ++num_refused;
    }
  }
  EXPECT_GT(num_refused, 50);
}

TEST(TokenizerJson, TextThatIsNoUtf8IsRefused) {
  const Tokenizer tokenizer(ParseTokenizerJson(TinyText(), "t.json"));
  for (const auto& [text, at] : std::vector<std::pair<std::string, int>>{{"ab\xFF", 2},
                                                                         {"12345678\xC0\x80", 8},
                                                                         {"\xED\xA0\x80", 0},
                                                                         {"a\xE4\xB8", 1},
                                                                         {"\xF4\x90\x80\x80", 0},
                                                                         {"\xE0\x80\x80", 0}}) {
    EXPECT_EQ(ErrorOf([&, &bad = text] { tokenizer.Encode(bad); }),
              "byte " + std::to_string(at) + ": not UTF-8");
  }
  EXPECT_NO_THROW(tokenizer.Encode("\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF\x00"));
}

}  // namespace
}  // namespace detcheck
