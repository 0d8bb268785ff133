#include "engine/tokenizer/bpe.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "engine/tokenizer/byte_level.h"

namespace detcheck {
namespace {

// Of what an encoder remembers: at most about 20 MB.
constexpr size_t kMostRemembered = 1 << 16;
constexpr size_t kLongestRemembered = 64;

uint64_t PairKey(TokenId left, TokenId right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

}  // namespace

Bpe::Bpe(const BpeSpec& spec) {
  std::unordered_map<std::string_view, TokenId> id_of;
  for (const auto& [token, id] : spec.vocab) {
    id_of.emplace(token, id);
    if (!spec.ignore_merges) continue;
    if (std::optional<std::string> bytes = SpelledBytes(token)) whole_pieces_.emplace(*bytes, id);
  }
  for (size_t byte = 0; byte < id_of_byte_.size(); ++byte) {
    const auto found = id_of.find(ByteSpellings()[byte]);
    id_of_byte_[byte] = found == id_of.end() ? -1 : found->second;
  }
  for (size_t i = 0; i < spec.merges.size(); ++i) {
    const struct Merge& merge = spec.merges[i];
    products_.insert_or_assign(PairKey(merge.left, merge.right),
                               Product{static_cast<int>(i), merge.merged});
  }
}

const Bpe::Product* Bpe::FindProduct(TokenId left, TokenId right) const {
  const auto found = products_.find(PairKey(left, right));
  return found == products_.end() ? nullptr : &found->second;
}

void BpeEncoder::Append(std::string_view piece, std::vector<TokenId>* ids) {
  if (const auto whole = bpe_.whole_pieces_.find(piece); whole != bpe_.whole_pieces_.end()) {
    ids->push_back(whole->second);
    return;
  }
  const bool is_short = piece.size() <= kLongestRemembered;
  if (is_short) {
    if (const auto known = remembered_.find(piece); known != remembered_.end()) {
      ids->insert(ids->end(), known->second.begin(), known->second.end());
      return;
    }
  }
  const auto num_before = static_cast<std::ptrdiff_t>(ids->size());
  Merge(piece, ids);
  if (!is_short || remembered_.size() >= kMostRemembered) return;
  remembered_.emplace(piece, std::vector<TokenId>(ids->begin() + num_before, ids->end()));
}

void BpeEncoder::Note(int left) {
  const int right = symbols_[left].next;
  if (right < 0) return;
  const Bpe::Product* product = bpe_.FindProduct(symbols_[left].id, symbols_[right].id);
  if (product == nullptr) return;
  candidates_.push_back({product->rank, left, product->id});
  std::push_heap(candidates_.begin(), candidates_.end(), [](const auto& a, const auto& b) {
    return std::tie(a.rank, a.at) > std::tie(b.rank, b.at);
  });
}

void BpeEncoder::MergeWithNext(int left, TokenId merged) {
  Symbol& symbol = symbols_[left];
  Symbol& gone = symbols_[symbol.next];
  symbol.id = merged;
  symbol.next = gone.next;
  gone.is_gone = true;
  if (symbol.next >= 0) symbols_[symbol.next].previous = left;
  if (symbol.previous >= 0) Note(symbol.previous);
  Note(left);
}

void BpeEncoder::Merge(std::string_view piece, std::vector<TokenId>* ids) {
  symbols_.clear();
  candidates_.clear();
  for (const char c : piece) {
    const TokenId id = bpe_.id_of_byte_[static_cast<unsigned char>(c)];
    if (id < 0) continue;
    const int at = static_cast<int>(symbols_.size());
    if (at > 0) symbols_.back().next = at;
    symbols_.push_back({.id = id, .previous = at - 1});
  }
  for (int i = 0; i < static_cast<int>(symbols_.size()); ++i) Note(i);
  while (!candidates_.empty()) {
    std::pop_heap(candidates_.begin(), candidates_.end(), [](const auto& a, const auto& b) {
      return std::tie(a.rank, a.at) > std::tie(b.rank, b.at);
    });
    const Candidate best = candidates_.back();
    candidates_.pop_back();
    const Symbol& symbol = symbols_[best.at];
    if (symbol.is_gone || symbol.next < 0) continue;
    // Still the pair that was noted?
    const Bpe::Product* product = bpe_.FindProduct(symbol.id, symbols_[symbol.next].id);
    if (product == nullptr || product->id != best.merged) continue;
    MergeWithNext(best.at, best.merged);
  }
  for (const Symbol& symbol : symbols_) {
    if (!symbol.is_gone) ids->push_back(symbol.id);
  }
}

}  // namespace detcheck
