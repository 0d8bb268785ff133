#include "engine/remote/prompt_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/sha256.h"

namespace detcheck {
namespace {

constexpr std::string_view kProbe = "The rain had stopped";
constexpr int kMostTries = 32;

/// Words that tokenizers know whole, and that make sense in no order.
constexpr auto kWords = std::to_array<std::string_view>(
    {" river", " and",  " the",    " old",  " house",  " was",  " seen",
     " by",    " many", " people", " in",   " winter", " when", " light",
     " falls", " over", " water",  " from", " a",      " far"});

std::string Digest(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return Sha256Hex(std::string(std::istreambuf_iterator<char>(in), {}));
}

/// "at position 3 token 5 in place of 7"; `a` and `b` differ.
std::string Difference(std::span<const TokenId> a, std::span<const TokenId> b) {
  const auto at = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const auto word = [](const auto& it, const auto& end) {
    return it == end ? std::string("its end") : fmt::format("token {}", *it);
  };
  return fmt::format("at position {} {} in place of {}", at.first - a.begin(),
                     word(at.second, b.end()), word(at.first, a.end()));
}

}  // namespace

PromptTexts::PromptTexts(const std::string& file, std::vector<TokenId> added, AskServer ask)
    : tokenizer_(Tokenizer::Read(file)),
      file_sha256_(Digest(file)),
      added_(std::move(added)),
      ask_(std::move(ask)) {
  if (ask_) LearnWhatIsAdded();
}

void PromptTexts::LearnWhatIsAdded() {
  const std::vector<TokenId> theirs = ask_(std::string(kProbe));
  const std::vector<TokenId> ours = tokenizer_.Encode(kProbe);
  if (theirs.size() < ours.size() || !std::equal(ours.rbegin(), ours.rend(), theirs.rbegin())) {
    throw Error(ErrorCode::kUnsupported,
                "--tokenizer: the server makes other tokens of a text: it has another tokenizer, "
                "or puts tokens behind every text");
  }
  added_.assign(theirs.begin(), theirs.end() - std::ssize(ours));
}

const PromptText& PromptTexts::TextOf(const std::vector<TokenId>& ids) {
  const auto it = known_.find(ids);
  return it != known_.end() ? it->second : known_.emplace(ids, Make(ids)).first->second;
}

PromptText PromptTexts::Make(const std::vector<TokenId>& ids) const {
  if (ids.size() <= added_.size() || !std::equal(added_.begin(), added_.end(), ids.begin())) {
    return {"", fmt::format("the server puts {} ({}) in front of every text, with which this "
                            "prompt does not begin, or ends",
                            added_.size() == 1 ? "a token" : "tokens", fmt::join(added_, ", "))};
  }
  const std::span<const TokenId> own = std::span(ids).subspan(added_.size());
  const auto unknown = std::find_if(own.begin(), own.end(), [this](TokenId id) {
    return id < 0 || id >= tokenizer_.vocab_size();
  });
  if (unknown != own.end()) return {"", fmt::format("the tokenizer has no token {}", *unknown)};
  PromptText made{tokenizer_.Decode(own, Tokenizer::SpecialText::kKeep), ""};
  try {
    const std::vector<TokenId> again = tokenizer_.Encode(made.text);
    if (!std::equal(own.begin(), own.end(), again.begin(), again.end())) {
      return {"", "the text of this prompt's tokens gives others back: " + Difference(own, again)};
    }
    if (!ask_) return made;
    const std::vector<TokenId> theirs = ask_(made.text);
    if (theirs != ids) {
      return {"",
              "the server makes other tokens of this prompt's text: " + Difference(ids, theirs)};
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInput) throw;
    return {"", std::string("the text of this prompt's tokens: ") + error.what()};
  }
  return made;
}

std::vector<TokenId> PromptTexts::SomePrompt(int start, int len) {
  for (int attempt = 0; attempt < kMostTries; ++attempt) {
    std::string text;
    for (int i = 0; i < len; ++i) {
      text += kWords[static_cast<size_t>(start + attempt + i * (1 + start % 3)) % kWords.size()];
    }
    std::vector<TokenId> ids = added_;
    const std::vector<TokenId> own = tokenizer_.Encode(text);
    ids.insert(ids.end(), own.begin(), own.end());
    ids.resize(static_cast<size_t>(len));
    if (TextOf(ids).why_not.empty()) return ids;
  }
  throw Error(ErrorCode::kUnsupported,
              fmt::format("--tokenizer: no prompt of {} tokens is the same again after it was "
                          "text: {}",
                          len, known_.rbegin()->second.why_not));
}

}  // namespace detcheck
