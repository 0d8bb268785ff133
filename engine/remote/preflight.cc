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

Error Refusal(ErrorCode code, const std::string& why) {
  return {code, "pre-flight: " + why};
}

Completion MustAnswer(const AskAlone& ask, const Request& request) {
  Completion completion = ask(request);
  if (completion.finish_reason == FinishReason::kError) {
    throw Refusal(ErrorCode::kTarget, completion.error);
  }
  return completion;
}

void RequireSameCount(const Completion& completion, size_t sent, bool as_text) {
  if (!completion.prompt_tokens) {
    throw Error(ErrorCode::kUnsupported,
                std::string("pre-flight: the server does not tell how many prompt tokens it "
                            "counted: whether it takes ") +
                    (as_text ? "text as it is" : "token IDs as they are") + " cannot be known");
  }
  if (*completion.prompt_tokens == static_cast<int>(sent)) return;
  throw Error(ErrorCode::kUnsupported,
              "pre-flight: " + std::to_string(sent) + " token" + (as_text ? "s" : " IDs") +
                  " were sent" + (as_text ? " as text" : "") + ", the server counted " +
                  std::to_string(*completion.prompt_tokens) + " prompt tokens: it adds some, or " +
                  (as_text ? "has another tokenizer" : "does not take IDs as they are"));
}

bool SameAnswer(const Completion& a, const Completion& b) {
  return a.token_ids == b.token_ids && a.logprobs == b.logprobs && a.text == b.text;
}

/// Whether logprobs come where they are asked for; a server that refuses them is asked without.
/// Where it fails anyway, Error(if_refused).
Completion FirstAnswer(const TargetFacts& facts, const AskAlone& ask, std::vector<TokenId> ids,
                       ErrorCode if_refused, bool* logprobs) {
  *logprobs = facts.capabilities.logprobs;
  const Request request = ShortRequest(ids, kAnswerLen, *logprobs);
  const Completion first = ask(request);
  if (first.finish_reason != FinishReason::kError) return first;
  if (!*logprobs) throw Refusal(if_refused, first.error);
  Completion second = ask(ShortRequest(std::move(ids), kAnswerLen, false));
  if (second.finish_reason == FinishReason::kError) throw Refusal(if_refused, first.error);
  Completion third = ask(request);  // It may have failed for another reason, which has passed.
  *logprobs = third.finish_reason != FinishReason::kError;
  return *logprobs ? third : second;
}

void LookAtCache(const TargetFacts& facts, const AskAlone& ask, const MakePrompt& make_prompt,
                 PreflightFindings* seen) {
  const int len = 2 * facts.page_size.value_or(kLargePage) + 1;
  Request request = ShortRequest(make_prompt(17, len), 1, seen->logprobs);
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

PreflightFindings Preflight(const TargetFacts& facts, const AskAlone& ask,
                            const MakePrompt& make_prompt, bool can_refuse_ids) {
  const int vocab_size = std::min(facts.vocab_size.value_or(kUsualVocabulary), kUsualVocabulary);
  const MakePrompt make = make_prompt ? make_prompt : [vocab_size](int start, int len) {
    return Prompt(start, len, vocab_size);
  };
  const bool as_text = facts.capabilities.text_in;
  PreflightFindings seen;
  bool logprobs = false;
  const ErrorCode if_refused = can_refuse_ids ? ErrorCode::kUnsupported : ErrorCode::kTarget;
  const Completion a = FirstAnswer(facts, ask, make(0, kPromptLen), if_refused, &logprobs);
  RequireSameCount(a, kPromptLen, as_text);
  const Completion b = MustAnswer(ask, ShortRequest(make(5, kPromptLen), kAnswerLen, logprobs));
  RequireSameCount(b, kPromptLen, as_text);
  if (SameAnswer(a, b)) {
    throw Error(ErrorCode::kUnsupported,
                std::string("pre-flight: two different prompts had the same answer: the server "
                            "does not read the ") +
                    (as_text ? "text" : "token IDs") + " that it is sent");
  }
  seen.ids_out = !a.token_ids.empty();
  seen.logprobs = !a.logprobs.empty();
  seen.top_ids = seen.logprobs && !a.logprobs.front().top.empty();
  seen.text = a.text.has_value();
  seen.ignore_eos = NumTokens(a) == kAnswerLen && NumTokens(b) == kAnswerLen;
  LookAtCache(facts, ask, make, &seen);
  return seen;
}

}  // namespace detcheck
