#include "engine/tokenizer/pipeline_json.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "engine/regex/regex.h"
#include "engine/tokenizer/byte_level.h"
#include "engine/tokenizer/pattern_syntax.h"

namespace detcheck {
namespace {

constexpr int kMostIds = 1 << 24;
/// What the library's "Digits" takes for one: it knows a few more than its patterns do.
constexpr char kNumbers[] = R"([\p{N}\x{11DE0}-\x{11DE9}\x{16FF4}-\x{16FF6}])";

[[noreturn]] void RefuseType(const JsonPlace& step, const char* supported) {
  step.Fail("type " + Shown(step.At("type").node()) + " is not supported; " + supported);
}

void CheckByteLevel(const JsonPlace& step) {
  step.CheckFields({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  for (const char* field : {"add_prefix_space", "trim_offsets", "use_regex"}) {
    step.BoolOr(field, true);
  }
}

SplitBehavior ReadBehavior(const JsonPlace& place) {
  constexpr std::pair<const char*, SplitBehavior> kBehaviors[] = {
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous},
  };
  for (const auto& [name, behavior] : kBehaviors) {
    if (place.String() == name) return behavior;
  }
  place.Fail(Shown(place.node()) + " is not a behavior");
}

/// As PCRE2 takes it; compiled once, so that a wrong one is refused with its place.
std::string ReadPattern(const JsonPlace& place) {
  place.CheckFields({"Regex", "String"});
  const std::optional<JsonPlace> regex = place.Find("Regex");
  const std::optional<JsonPlace> literal = place.Find("String");
  if (regex.has_value() == literal.has_value()) place.Fail("is neither a Regex nor a String");
  const JsonPlace& text = regex ? *regex : *literal;
  try {
    std::string pattern = regex ? OnigurumaToPcre2(text.String()) : LiteralPattern(text.String());
    if (Regex(pattern, Regex::Texts::kUtf8).may_match_empty()) {
      text.Fail("may match an empty text, which is not supported");
    }
    return pattern;
  } catch (const Error& error) {
    const std::string fact = error.what();
    if (!fact.starts_with("at byte ")) throw;
    text.Fail(fact);
  }
}

SplitStep ReadSplit(const JsonPlace& step) {
  step.CheckFields({"type", "pattern", "behavior", "invert"});
  return {.pattern = ReadPattern(step.At("pattern")),
          .behavior = ReadBehavior(step.At("behavior")),
          .invert = step.At("invert").Bool()};
}

SplitStep ReadDigits(const JsonPlace& step) {
  step.CheckFields({"type", "individual_digits"});
  const bool individual = step.At("individual_digits").Bool();
  return {.pattern = OnigurumaToPcre2(kNumbers),
          .behavior = individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous};
}

SplitStep ReadByteLevel(const JsonPlace& step) {
  CheckByteLevel(step);
  SplitStep split;
  split.add_prefix_space = step.At("add_prefix_space").Bool();
  if (step.BoolOr("use_regex", true)) split.pattern = OnigurumaToPcre2(kByteLevelPattern);
  return split;
}

/// The steps of a "Sequence", of which each may be one again; else `step` alone.
void Flatten(const JsonPlace& step, const char* list_name, std::vector<JsonPlace>* steps) {
  if (!step.node().is_object()) step.Fail(Shown(step.node()) + " is not an object");
  if (step.At("type").String() != "Sequence") {
    steps->push_back(step);
    return;
  }
  step.CheckFields({"type", list_name});
  for (const JsonPlace& item : step.At(list_name).Items()) Flatten(item, list_name, steps);
}

std::vector<TokenId> ReadIds(const JsonPlace& list) {
  std::vector<TokenId> ids;
  for (const JsonPlace& item : list.Items()) ids.push_back(item.Int(0, kMostIds - 1));
  return ids;
}

/// IDs of one special token of a template, by its name there.
std::vector<TokenId> ReadSpecialToken(const JsonPlace& name, const JsonPlace& special_tokens) {
  const std::optional<JsonPlace> token = special_tokens.Find(name.String().c_str());
  if (!token) name.Fail(Shown(name.node()) + " is not in special_tokens");
  token->CheckFields({"id", "ids", "tokens"});
  return ReadIds(token->At("ids"));
}

void ReadTemplate(const JsonPlace& step, TokenizerSpec* spec) {
  step.CheckFields({"type", "single", "pair", "special_tokens"});
  const JsonPlace special_tokens = step.At("special_tokens");
  if (!special_tokens.node().is_object()) special_tokens.Fail("is not an object");
  std::vector<TokenId> before;
  std::vector<TokenId> after;
  bool seen_text = false;
  for (const JsonPlace& piece : step.At("single").Items()) {
    piece.CheckFields({"Sequence", "SpecialToken"});
    if (const std::optional<JsonPlace> token = piece.Find("SpecialToken")) {
      std::vector<TokenId>& ids = seen_text ? after : before;
      for (const TokenId id : ReadSpecialToken(token->At("id"), special_tokens)) ids.push_back(id);
      continue;
    }
    const JsonPlace id = piece.At("Sequence").At("id");
    if (id.String() != "A" || seen_text) id.Fail("the template is not of one text");
    seen_text = true;
  }
  if (!seen_text) step.At("single").Fail("has no Sequence");
  spec->ids_before.insert(spec->ids_before.begin(), before.begin(), before.end());
  spec->ids_after.insert(spec->ids_after.end(), after.begin(), after.end());
}

}  // namespace

bool ReadNormalizer(const JsonPlace& normalizer) {
  std::vector<JsonPlace> steps;
  Flatten(normalizer, "normalizers", &steps);
  for (const JsonPlace& step : steps) {
    if (step.At("type").String() != "NFC") RefuseType(step, "NFC and Sequence are");
    step.CheckFields({"type"});
  }
  return !steps.empty();
}

std::vector<SplitStep> ReadPreTokenizer(const JsonPlace& pre_tokenizer) {
  std::vector<JsonPlace> steps;
  Flatten(pre_tokenizer, "pretokenizers", &steps);
  std::vector<SplitStep> splits;
  bool is_byte_level = false;
  for (const JsonPlace& step : steps) {
    if (is_byte_level) step.Fail("comes after ByteLevel, which is not supported");
    const std::string& type = step.At("type").String();
    if (type == "Split") {
      splits.push_back(ReadSplit(step));
    } else if (type == "Digits") {
      splits.push_back(ReadDigits(step));
    } else if (type == "ByteLevel") {
      splits.push_back(ReadByteLevel(step));
      is_byte_level = true;
    } else {
      RefuseType(step, "Split, Digits, ByteLevel and Sequence are");
    }
  }
  if (!is_byte_level) pre_tokenizer.Fail("has no ByteLevel: only byte-level BPE is supported");
  return splits;
}

void ReadPostProcessor(const JsonPlace& post_processor, TokenizerSpec* spec) {
  std::vector<JsonPlace> steps;
  Flatten(post_processor, "processors", &steps);
  for (const JsonPlace& step : steps) {
    const std::string& type = step.At("type").String();
    if (type == "TemplateProcessing") {
      ReadTemplate(step, spec);
    } else if (type == "ByteLevel") {
      CheckByteLevel(step);  // It moves offsets; detcheck has none.
    } else {
      RefuseType(step, "TemplateProcessing, ByteLevel and Sequence are");
    }
  }
}

void CheckDecoder(const JsonPlace& decoder) {
  std::vector<JsonPlace> steps;
  Flatten(decoder, "decoders", &steps);
  for (const JsonPlace& step : steps) {
    if (step.At("type").String() != "ByteLevel") RefuseType(step, "ByteLevel is");
    CheckByteLevel(step);
  }
  if (steps.size() != 1) decoder.Fail("is not one ByteLevel");
}

}  // namespace detcheck
