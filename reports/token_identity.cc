#include "reports/token_identity.h"

#include <algorithm>
#include <cstdint>

namespace detcheck {
namespace {

bool LacksIds(const Completion& answer) {
  return answer.completion_tokens.has_value();
}

void Append(const void* value, size_t num_bytes, std::string* bytes) {
  bytes->append(static_cast<const char*>(value), num_bytes);
}

}  // namespace

TokenIdentity IdentityOf(const std::vector<Sample>& samples) {
  const auto num_lacking = std::count_if(samples.begin(), samples.end(), [](const Sample& sample) {
    return LacksIds(*sample.answer);
  });
  return num_lacking > 0 && num_lacking == std::ssize(samples) ? TokenIdentity::kText
                                                               : TokenIdentity::kIds;
}

TokenIdentity IdentityOf(const Completion& a, const Completion& b) {
  return LacksIds(a) || LacksIds(b) ? TokenIdentity::kText : TokenIdentity::kIds;
}

std::optional<std::string> OutputBytes(const Completion& answer, TokenIdentity identity) {
  if (identity == TokenIdentity::kText) return answer.text;
  if (LacksIds(answer)) return std::nullopt;
  std::string bytes;
  Append(answer.token_ids.data(), answer.token_ids.size() * sizeof(TokenId), &bytes);
  return bytes;
}

std::optional<std::string> TraceBytes(const Completion& answer, TokenIdentity identity) {
  const bool by_text = identity == TokenIdentity::kText;
  const size_t num_tokens = by_text ? answer.token_bytes.size() : answer.token_ids.size();
  if (answer.logprobs.empty() || answer.logprobs.size() != num_tokens) return std::nullopt;
  std::string bytes;
  for (size_t i = 0; i < num_tokens; ++i) {
    if (by_text) {
      const uint64_t len = answer.token_bytes[i].size();
      Append(&len, sizeof(len), &bytes);
      bytes += answer.token_bytes[i];
    } else {
      Append(&answer.token_ids[i], sizeof(TokenId), &bytes);
    }
    Append(&answer.logprobs[i].logprob, sizeof(double), &bytes);
  }
  return bytes;
}

bool AreComparable(const Completion& a, const Completion& b) {
  const TokenIdentity identity = IdentityOf(a, b);
  return OutputBytes(a, identity) && OutputBytes(b, identity);
}

bool OnlyOneHasIds(const Completion& a, const Completion& b) {
  return LacksIds(a) != LacksIds(b);
}

}  // namespace detcheck
