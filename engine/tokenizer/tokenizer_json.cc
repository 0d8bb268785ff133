#include "engine/tokenizer/tokenizer_json.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "engine/base/error.h"
#include "engine/tokenizer/byte_level.h"
#include "engine/tokenizer/json_value.h"
#include "engine/tokenizer/pipeline_json.h"

namespace detcheck {
namespace {

using Json = nlohmann::json;

constexpr int kMostIds = 1 << 24;

/// Spelled token -> ID. Views into the file's tree.
using IdOf = std::unordered_map<std::string_view, TokenId>;

IdOf ReadVocab(const JsonPlace& place, BpeSpec* bpe) {
  if (!place.node().is_object() || place.node().empty()) place.Fail("is not an object of tokens");
  IdOf id_of;
  std::unordered_map<TokenId, std::string_view> token_of;
  for (const auto& [token, id] : place.node().items()) {
    const bool is_id = id.is_number_integer() && id >= 0 && id < kMostIds;
    if (!is_id) place.Fail(Shown(token) + ": " + Shown(id) + " is not an ID");
    const TokenId value = id.get<TokenId>();
    const auto [other, is_new] = token_of.emplace(value, token);
    if (!is_new) {
      place.Fail(Shown(token) + " and " + Shown(std::string(other->second)) + " have the ID " +
                 std::to_string(value));
    }
    id_of.emplace(token, value);
    bpe->vocab.emplace_back(token, value);
  }
  return id_of;
}

/// "left right", or ["left", "right"].
std::pair<std::string_view, std::string_view> ReadPair(const JsonPlace& list, size_t i) {
  const Json& merge = list.node()[i];
  if (merge.is_string()) {
    const std::string_view text = merge.get_ref<const std::string&>();
    const size_t space = text.find(' ');
    if (space != text.npos && text.find(' ', space + 1) == text.npos) {
      return {text.substr(0, space), text.substr(space + 1)};
    }
  } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
             merge[1].is_string()) {
    return {merge[0].get_ref<const std::string&>(), merge[1].get_ref<const std::string&>()};
  }
  list.Items()[i].Fail(Shown(merge) + " is not a pair of tokens");
}

void ReadMerges(const JsonPlace& list, const IdOf& id_of, BpeSpec* bpe) {
  if (!list.node().is_array()) list.Fail("is not a list");
  const auto id_at = [&](size_t i, const std::string& token) {
    const auto found = id_of.find(token);
    if (found == id_of.end()) list.Items()[i].Fail(Shown(token) + " is not in the vocabulary");
    return found->second;
  };
  for (size_t i = 0; i < list.node().size(); ++i) {
    if (list.node()[i].type() != list.node()[0].type()) {
      list.Items()[i].Fail("is spelled unlike the merges before it");
    }
    const auto [left, right] = ReadPair(list, i);
    bpe->merges.push_back({.left = id_at(i, std::string(left)),
                           .right = id_at(i, std::string(right)),
                           .merged = id_at(i, std::string(left) + std::string(right))});
  }
}

/// Refuses what would change the IDs and is not done.
void RefuseUnsupported(const JsonPlace& model, const IdOf& id_of) {
  const std::optional<JsonPlace> dropout = model.Find("dropout");
  if (dropout && dropout->node() != 0) {
    dropout->Fail("not supported: the same text would get other IDs each time");
  }
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const std::optional<JsonPlace> text = model.Find(affix);
    if (text && !text->String().empty()) text->Fail("not supported: not byte-level BPE");
  }
  if (model.BoolOr("byte_fallback", false)) {
    model.At("byte_fallback").Fail("true is not supported: not byte-level BPE");
  }
  model.BoolOr("fuse_unk", false);
  const std::optional<JsonPlace> unknown = model.Find("unk_token");
  if (!unknown) return;
  unknown->String();
  for (const std::string& spelling : ByteSpellings()) {
    if (id_of.contains(spelling)) continue;
    unknown->Fail("not supported where the vocabulary lacks a byte, here " + Shown(spelling));
  }
}

void ReadModel(const JsonPlace& model, BpeSpec* bpe) {
  model.CheckFields({"type", "dropout", "unk_token", "continuing_subword_prefix",
                     "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges", "vocab",
                     "merges"});
  if (const std::optional<JsonPlace> type = model.Find("type")) {
    if (type->String() != "BPE") type->Fail(Shown(type->node()) + " is not supported; BPE is");
  }
  const JsonPlace vocab = model.At("vocab");
  const IdOf id_of = ReadVocab(vocab, bpe);
  RefuseUnsupported(model, id_of);
  ReadMerges(model.At("merges"), id_of, bpe);
  bpe->ignore_merges = model.BoolOr("ignore_merges", false);
}

AddedToken ReadAddedToken(const JsonPlace& place) {
  place.CheckFields({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
  AddedToken token{.id = place.At("id").Int(0, kMostIds - 1),
                   .content = place.At("content").String(),
                   .single_word = place.At("single_word").Bool(),
                   .lstrip = place.At("lstrip").Bool(),
                   .rstrip = place.At("rstrip").Bool(),
                   .normalized = place.At("normalized").Bool(),
                   .special = place.At("special").Bool()};
  if (token.content.empty()) place.At("content").Fail("is empty");
  return token;
}

/// The library does not look at the IDs of added tokens: one that is in the vocabulary has its ID
/// there, the others are numbered from the vocabulary's size on. A file that says otherwise is
/// refused: its IDs would not be those that the library gives.
void ReadAddedTokens(const JsonPlace& list, TokenizerSpec* spec) {
  std::unordered_map<std::string_view, TokenId> id_of;
  std::unordered_set<TokenId> vocab_ids;
  for (const auto& [token, id] : spec->bpe.vocab) {
    id_of.emplace(token, id);
    vocab_ids.insert(id);
  }
  TokenId next = static_cast<TokenId>(spec->bpe.vocab.size());
  std::set<std::string> seen;
  for (const JsonPlace& place : list.Items()) {
    AddedToken token = ReadAddedToken(place);
    if (!seen.insert(token.content).second) place.Fail(Shown(token.content) + " appears twice");
    const auto in_vocab = id_of.find(token.content);
    const TokenId right = in_vocab == id_of.end() ? next++ : in_vocab->second;
    if (token.id != right) {
      place.At("id").Fail(std::to_string(token.id) + ", but " + Shown(token.content) +
                          " gets the ID " + std::to_string(right) +
                          (in_vocab == id_of.end() ? ", the next one" : " from the vocabulary"));
    }
    if (in_vocab == id_of.end() && vocab_ids.contains(token.id)) {
      place.At("id").Fail(std::to_string(token.id) + " is another token's in the vocabulary");
    }
    spec->added_tokens.push_back(std::move(token));
  }
}

}  // namespace

TokenizerSpec ParseTokenizerJson(std::string_view text, const std::string& file) {
  const Json tree = ParseJsonFile(text, file);
  const JsonPlace root(tree, file, "");
  root.CheckFields({"version", "truncation", "padding", "added_tokens", "normalizer",
                    "pre_tokenizer", "post_processor", "decoder", "model"});
  const JsonPlace version = root.At("version");
  if (version.String() != "1.0") version.Fail(Shown(version.node()) + " is not \"1.0\"");
  for (const char* field : {"truncation", "padding"}) {
    if (root.Find(field)) root.At(field).Fail("not supported: texts are taken whole");
  }
  TokenizerSpec spec;
  if (const auto normalizer = root.Find("normalizer")) spec.nfc = ReadNormalizer(*normalizer);
  spec.splits = ReadPreTokenizer(root.At("pre_tokenizer"));
  if (const auto processor = root.Find("post_processor")) ReadPostProcessor(*processor, &spec);
  CheckDecoder(root.At("decoder"));
  ReadModel(root.At("model"), &spec.bpe);
  if (const auto added = root.Find("added_tokens")) ReadAddedTokens(*added, &spec);
  return spec;
}

}  // namespace detcheck
