#include "engine/remote/preflight.h"

#include <algorithm>
#include <string>

#include "engine/base/error.h"

namespace detcheck {
namespace {

constexpr int kPromptLen = 33;
constexpr int kAnswerLen = 8;
constexpr int kTopLogprobs = 2;
constexpr int kFirstId = 100;
/// Prompts stay below this where the vocabulary is not known: that of the shipped fixtures.
constexpr int kUsualVocabulary = 32000;
/// Tokens of a page where it is not known: few servers have larger ones.
constexpr int kLargePage = 64;

/// IDs spread over the vocabulary; another `start`, other IDs.
std::vector<TokenId> Prompt(int start, int len, int vocab_size) {
  constexpr int kStride = 7919;
  std::vector<TokenId> ids;
  const int first = vocab_size > 2 * kFirstId ? kFirstId : 1;
  for (int i = 0; i < len; ++i) {
    ids.push_back(first +
                  static_cast<int>((int64_t{start} + int64_t{i} * kStride) % (vocab_size - first)));
  }
  return ids;
}

Request ShortRequest(std::vector<TokenId> ids, int max_new_tokens, bool logprobs) {
  Request request;
  request.prompt_ids = std::move(ids);
  request.max_new_tokens = max_new_tokens;
  if (logprobs) request.top_logprobs = kTopLogprobs;
  return request;
}

Completion MustAnswer(const AskAlone& ask, const Request& request) {
  Completion completion = ask(request);
  if (completion.finish_reason == FinishReason::kError) {
    throw Error(ErrorCode::kTarget, "pre-flight: " + completion.error);
  }
  return completion;
}

void RequireSameCount(const Completion& completion, size_t sent) {
  if (!completion.prompt_tokens) {
    throw Error(ErrorCode::kUnsupported,
                "pre-flight: the server does not tell how many prompt tokens it counted: whether "
                "it takes token IDs as they are cannot be known");
  }
  if (*completion.prompt_tokens != static_cast<int>(sent)) {
    throw Error(ErrorCode::kUnsupported,
                "pre-flight: " + std::to_string(sent) +
                    " token IDs were sent, the server counted " +
                    std::to_string(*completion.prompt_tokens) +
                    " prompt tokens: it adds some, or does not take IDs as they are");
  }
}

bool SameAnswer(const Completion& a, const Completion& b) {
  return a.token_ids == b.token_ids && a.logprobs == b.logprobs && a.text == b.text;
}

/// Whether logprobs come where they are asked for; a server that refuses them is asked without.
Completion FirstAnswer(const TargetFacts& facts, const AskAlone& ask, std::vector<TokenId> ids,
                       bool* logprobs) {
  *logprobs = facts.capabilities.logprobs;
  const Request request = ShortRequest(ids, kAnswerLen, *logprobs);
  const Completion first = ask(request);
  if (first.finish_reason != FinishReason::kError || !*logprobs) {
    return MustAnswer([&first](const Request&) { return first; }, request);
  }
  Completion second = ask(ShortRequest(std::move(ids), kAnswerLen, false));
  if (second.finish_reason == FinishReason::kError) {
    throw Error(ErrorCode::kTarget, "pre-flight: " + first.error);
  }
  Completion third = ask(request);  // It may have failed for another reason, which has passed.
  *logprobs = third.finish_reason != FinishReason::kError;
  return *logprobs ? third : second;
}

void LookAtCache(const TargetFacts& facts, const AskAlone& ask, int vocab_size,
                 PreflightFindings* seen) {
  const int len = 2 * facts.page_size.value_or(kLargePage) + 1;
  Request request = ShortRequest(Prompt(17, len, vocab_size), 1, seen->logprobs);
  MustAnswer(ask, request);
  const Completion again = MustAnswer(ask, request);
  seen->cached_tokens = again.witness.cached_tokens.has_value();
  if (!seen->cached_tokens) return;
  seen->cache_is_off = *again.witness.cached_tokens == 0;
  if (seen->cache_is_off || !facts.capabilities.cache_bypass) return;
  request.cache = CacheWish::kBypass;
  seen->cache_bypass = MustAnswer(ask, request).witness.cached_tokens == 0;
}

}  // namespace

PreflightFindings Preflight(const TargetFacts& facts, const AskAlone& ask) {
  const int vocab_size = std::min(facts.vocab_size.value_or(kUsualVocabulary), kUsualVocabulary);
  PreflightFindings seen;
  bool logprobs = false;
  const Completion a = FirstAnswer(facts, ask, Prompt(0, kPromptLen, vocab_size), &logprobs);
  RequireSameCount(a, kPromptLen);
  const Completion b =
      MustAnswer(ask, ShortRequest(Prompt(5, kPromptLen, vocab_size), kAnswerLen, logprobs));
  RequireSameCount(b, kPromptLen);
  if (SameAnswer(a, b)) {
    throw Error(ErrorCode::kUnsupported,
                "pre-flight: two different prompts had the same answer: the server does not read "
                "the token IDs that it is sent");
  }
  seen.ids_out = !a.token_ids.empty();
  seen.logprobs = !a.logprobs.empty();
  seen.top_ids = seen.logprobs && !a.logprobs.front().top.empty();
  seen.text = a.text.has_value();
  seen.ignore_eos = a.token_ids.size() == kAnswerLen && b.token_ids.size() == kAnswerLen;
  LookAtCache(facts, ask, vocab_size, &seen);
  return seen;
}

}  // namespace detcheck
