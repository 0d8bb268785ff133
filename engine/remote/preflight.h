#pragma once

#include <functional>
#include <vector>

#include "engine/base/request.h"

namespace detcheck {

/// What a few requests to a server showed.
struct PreflightFindings {
  bool ids_out = false;
  bool logprobs = false;
  bool top_ids = false;
  bool text = false;
  bool ignore_eos = false;
  bool cached_tokens = false;  ///< Answers tell how many prompt tokens were cached.
  bool cache_is_off = false;   ///< A prompt that was sent twice was not cached.
  bool cache_bypass = false;   ///< A request that must not read the cache did not.
};

/// What a pre-flight asks: a request alone. A request that fails is a Completion with kError.
using AskAlone = std::function<Completion(const Request& request)>;

/// Makes a prompt of `len` tokens; another `start`, another prompt.
using MakePrompt = std::function<std::vector<TokenId>(int start, int len)>;

/// Sends a few short requests and looks at what comes back: the server must count as many prompt
/// tokens as IDs were sent, and two different prompts of one length must not have the same answer.
/// Then: which parts of an answer there are, and whether a prompt sent twice is cached, and can be
/// kept from being read out of the cache. `facts` are what the server claims, but for text_in: that
/// says that prompts are sent as text. Without `make_prompt` IDs are spread over the vocabulary.
/// Throws Error(kUnsupported) where prompts are not taken as they are sent, Error(kTarget) where
/// requests fail; and of those that the server refuses Error(kUnsupported) where `can_refuse_ids`.
PreflightFindings Preflight(const TargetFacts& facts, const AskAlone& ask,
                            const MakePrompt& make_prompt = {}, bool can_refuse_ids = false);

}  // namespace detcheck
