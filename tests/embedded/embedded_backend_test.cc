#include "engine/embedded/embedded_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "engine/base/error.h"
#include "engine/factory.h"

namespace detcheck {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TargetOptions Deterministic() {
  TargetOptions options;
  options.embedded.deterministic = true;
  options.embedded.max_total_tokens = 2048;
  options.embedded.num_threads = 1;
  return options;
}

class EmbeddedBackendTest : public ::testing::Test {
 protected:
  Completion Ask(std::vector<TokenId> prompt, int max_new_tokens) {
    BatchItem item;
    item.request.prompt_ids = std::move(prompt);
    item.request.max_new_tokens = max_new_tokens;
    item.request.top_logprobs = 3;
    return backend_->Complete({item}, stop_, nullptr).completions[0];
  }

  std::unique_ptr<Backend> backend_ = MakeBackend(Deterministic());
  std::atomic<bool> stop_ = false;
};

TEST_F(EmbeddedBackendTest, DescribesItself) {
  const Description description = backend_->Describe();
  EXPECT_EQ(description.engine, "detcheck CPU engine, deterministic, synthetic:tiny");
  EXPECT_EQ(description.facts.page_size, 16);
  EXPECT_EQ(description.facts.chunk_size, 256);
  EXPECT_EQ(description.facts.kv_pool_tokens, 2048);
  EXPECT_EQ(description.facts.vocab_size, 32000);
  EXPECT_TRUE(description.facts.capabilities.prefix_cache);
  EXPECT_TRUE(description.facts.capabilities.text);
  std::map<std::string, std::string> fields;
  for (const ManifestField& field : description.subject) {
    EXPECT_TRUE(fields.emplace(field.name, field.value).second) << field.name << " is there twice";
  }
  EXPECT_EQ(fields["engine.name"], "detcheck-cpu");
  EXPECT_EQ(fields["engine.mode"], "deterministic");
  EXPECT_EQ(fields["engine.radix_cache"], "on");
  EXPECT_EQ(fields["model.name"], "synthetic:tiny");
  EXPECT_EQ(fields["model.dtype"], "bfloat16");
  EXPECT_EQ(fields["model.weights_seed"], "42");
}

TEST_F(EmbeddedBackendTest, AnswersAlikeColdAndWarmAndAfterARestart) {
  std::vector<TokenId> prompt;
  for (int i = 0; i < 40; ++i) prompt.push_back(1000 + 37 * i);
  const Completion cold = Ask(prompt, 8);
  ASSERT_EQ(cold.token_ids.size(), 8u);
  ASSERT_EQ(cold.logprobs.size(), 8u);
  EXPECT_EQ(cold.logprobs[0].top.size(), 3u);
  EXPECT_EQ(cold.witness.cached_tokens, 0);
  EXPECT_TRUE(cold.text && !cold.text->empty());

  const Completion warm = Ask(prompt, 8);
  EXPECT_EQ(warm.witness.cached_tokens, 32);
  EXPECT_EQ(warm.token_ids, cold.token_ids);
  EXPECT_EQ(warm.logprobs, cold.logprobs);

  EXPECT_TRUE(backend_->Flush().accepted);
  EXPECT_EQ(Ask(prompt, 8).witness.cached_tokens, 0);
  backend_->Restart();
  const Completion restarted = Ask(prompt, 8);
  EXPECT_EQ(restarted.witness.cached_tokens, 0);
  EXPECT_EQ(restarted.logprobs, cold.logprobs);
}

TEST_F(EmbeddedBackendTest, ScoresAsItDecodes) {
  std::vector<TokenId> ids = {5, 17, 29000, 4};
  const Completion completion = Ask(ids, 300);
  ids.insert(ids.end(), completion.token_ids.begin(), completion.token_ids.end());
  const auto scores = backend_->Score(ids, 3);
  ASSERT_EQ(scores.size(), ids.size() - 1);
  for (size_t i = 0; i < completion.logprobs.size(); ++i) {
    EXPECT_EQ(scores[3 + i], completion.logprobs[i]) << "token " << i;
  }
  EXPECT_THAT(backend_->Score({7}, 0), IsEmpty());
  EXPECT_EQ(Ask(ids, 1).witness.cached_tokens, 288) << "scoring leaves the cache as it was";
}

TEST_F(EmbeddedBackendTest, RefusesToScoreWhatItCannot) {
  try {
    backend_->Score({1, 32000, 2}, 0);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInput);
    EXPECT_STREQ(error.what(), "score: prompt token 1 is 32000, outside the vocabulary of 32000");
  }
  EXPECT_THROW(backend_->Score({}, 0), Error);
}

TEST_F(EmbeddedBackendTest, ARequestThatFailsAloneIsACompletion) {
  const Completion completion = Ask({1, 32000}, 1);
  EXPECT_EQ(completion.finish_reason, FinishReason::kError);
  EXPECT_EQ(completion.error, "prompt token 1 is 32000, outside the vocabulary of 32000");
}

// --- factory ------------------------------------------------------------------------------------

TEST(FactoryTest, SaysWhichEngineAutoTook) {
  TargetOptions options = Deterministic();
  std::string choice;
  MakeBackend(options, &choice);
  EXPECT_THAT(choice, HasSubstr("engine cpu: "));
  options.engine = "cpu";
  MakeBackend(options, &choice);
  EXPECT_EQ(choice, "");
}

ErrorCode CodeOf(const TargetOptions& options) {
  try {
    MakeBackend(options);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kInternal;
}

TEST(FactoryTest, RefusesWhatCannotStart) {
  TargetOptions options = Deterministic();
  options.engine = "cuda";
  EXPECT_EQ(CodeOf(options), ErrorCode::kDevice);
  options.engine = "tpu";
  EXPECT_EQ(CodeOf(options), ErrorCode::kUsage);
  options = Deterministic();
  options.embedded.max_total_tokens = 15;
  EXPECT_EQ(CodeOf(options), ErrorCode::kUsage);
  options = Deterministic();
  options.embedded.page_size = 0;
  EXPECT_EQ(CodeOf(options), ErrorCode::kUsage);
}

}  // namespace
}  // namespace detcheck
