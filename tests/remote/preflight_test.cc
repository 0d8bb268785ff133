#include "engine/remote/preflight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"

namespace detcheck {
namespace {

using testing::HasSubstr;

TargetFacts Facts() {
  TargetFacts facts;
  facts.capabilities.logprobs = true;
  facts.capabilities.cache_bypass = true;
  return facts;
}

/// A server that takes IDs, caches, and says so.
Completion Obey(const Request& request) {
  Completion completion;
  completion.prompt_tokens = static_cast<int>(request.prompt_ids.size());
  for (int i = 0; i < request.max_new_tokens; ++i) {
    completion.token_ids.push_back(request.prompt_ids.front() + i);
    if (request.top_logprobs) completion.logprobs.push_back({-0.5, {{1, -0.5}}});
  }
  completion.witness.cached_tokens = request.cache == CacheWish::kAllow ? 16 : 0;
  return completion;
}

std::string WhyRefused(const AskAlone& ask, ErrorCode code) {
  try {
    Preflight(Facts(), ask);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "";
}

TEST(Preflight, SeesWhatAServerCanDo) {
  const PreflightFindings seen = Preflight(Facts(), Obey);
  EXPECT_TRUE(seen.ids_out && seen.logprobs && seen.top_ids && seen.ignore_eos);
  EXPECT_TRUE(seen.cached_tokens && seen.cache_bypass);
  EXPECT_FALSE(seen.cache_is_off || seen.text);
}

TEST(Preflight, RefusesATokenThatIsAdded) {
  EXPECT_THAT(WhyRefused(
                  [](const Request& request) {
                    Completion completion = Obey(request);
                    ++*completion.prompt_tokens;
                    return completion;
                  },
                  ErrorCode::kUnsupported),
              HasSubstr("33 token IDs were sent, the server counted 34"));
}

TEST(Preflight, RefusesACountThatIsNotTold) {
  EXPECT_THAT(WhyRefused(
                  [](const Request& request) {
                    Completion completion = Obey(request);
                    completion.prompt_tokens.reset();
                    return completion;
                  },
                  ErrorCode::kUnsupported),
              HasSubstr("does not tell how many prompt tokens"));
}

TEST(Preflight, RefusesAServerThatDoesNotReadTheIds) {
  EXPECT_THAT(WhyRefused(
                  [](const Request& request) {
                    Request same = request;
                    same.prompt_ids.assign(request.prompt_ids.size(), 7);
                    return Obey(same);
                  },
                  ErrorCode::kUnsupported),
              HasSubstr("two different prompts had the same answer"));
}

TEST(Preflight, PassesOnWhyRequestsFail) {
  EXPECT_THAT(WhyRefused(
                  [](const Request&) {
                    Completion completion;
                    completion.finish_reason = FinishReason::kError;
                    completion.error = "no such model";
                    return completion;
                  },
                  ErrorCode::kTarget),
              HasSubstr("no such model"));
}

TEST(Preflight, LogprobsThatAreRefusedAreDoneWithout) {
  const PreflightFindings seen = Preflight(Facts(), [](const Request& request) {
    Completion completion = Obey(request);
    if (request.top_logprobs) {
      completion.finish_reason = FinishReason::kError;
      completion.error = "logprobs are off";
    }
    return completion;
  });
  EXPECT_FALSE(seen.logprobs);
  EXPECT_TRUE(seen.ids_out);
}

TEST(Preflight, AFailureThatPassesDoesNotTakeLogprobsAway) {
  int num_calls = 0;
  const PreflightFindings seen = Preflight(Facts(), [&](const Request& request) {
    Completion completion = Obey(request);
    if (num_calls++ == 0) {
      completion.finish_reason = FinishReason::kError;
      completion.error = "busy";
    }
    return completion;
  });
  EXPECT_TRUE(seen.logprobs);
}

/// A server to which text is sent, and that gives none but text back.
Completion ObeyInText(const Request& request) {
  Completion completion;
  completion.prompt_tokens = static_cast<int>(request.prompt_ids.size());
  completion.text = "answer to " + std::to_string(request.prompt_ids.front());
  completion.completion_tokens = request.max_new_tokens;
  return completion;
}

TEST(Preflight, TextInAndOut) {
  TargetFacts facts = Facts();
  facts.capabilities.text_in = true;
  int num_prompts = 0;
  const auto make_prompt = [&](int start, int len) {
    ++num_prompts;
    return std::vector<TokenId>(static_cast<size_t>(len), start);
  };
  const PreflightFindings seen = Preflight(facts, ObeyInText, make_prompt);
  EXPECT_EQ(num_prompts, 3);
  EXPECT_TRUE(seen.text && seen.ignore_eos);
  EXPECT_FALSE(seen.ids_out || seen.logprobs);
}

TEST(Preflight, WhereIdsMayBeRefusedARefusalSaysSo) {
  const auto refuse = [](const Request&) {
    Completion completion;
    completion.finish_reason = FinishReason::kError;
    completion.error = "prompt: expected a string";
    return completion;
  };
  try {
    Preflight(Facts(), refuse, {}, true);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("expected a string"));
  }
}

TEST(Preflight, ABypassThatIsNotHeededIsNone) {
  EXPECT_FALSE(Preflight(Facts(), [](const Request& request) {
                 Completion completion = Obey(request);
                 completion.witness.cached_tokens = 16;
                 return completion;
               }).cache_bypass);
}

TEST(Preflight, ACacheThatIsOff) {
  const PreflightFindings seen = Preflight(Facts(), [](const Request& request) {
    Completion completion = Obey(request);
    completion.witness.cached_tokens = 0;
    return completion;
  });
  EXPECT_TRUE(seen.cache_is_off && seen.cached_tokens);
}

}  // namespace
}  // namespace detcheck
