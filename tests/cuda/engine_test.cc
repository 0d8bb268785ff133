#include "engine/embedded/engine.h"

#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "engine/base/error.h"
#include "engine/cuda_device.h"
#include "engine/embedded/model_dir.h"
#include "tests/embedded/reference_logits.h"

namespace detcheck {
namespace {

EngineDevice Gpu() {
  std::string why_not;
  const std::optional<EngineDevice> device = FindCudaDevice(&why_not);
  if (!device) throw Error(ErrorCode::kDevice, why_not);
  return *device;
}

/// Name of the model, deterministic mode, attention backend.
class CudaReferenceLogitsTest
    : public testing::TestWithParam<std::tuple<const char*, bool, const char*>> {};

TEST_P(CudaReferenceLogitsTest, AreWithinTheRoundingOfBf16) {
  EngineOptions options;
  options.deterministic = std::get<1>(GetParam());
  options.attention_backend = std::get<2>(GetParam());
  const LogitDistance distance = DistanceToReference(std::get<0>(GetParam()), Gpu(), options);
  RecordProperty("rms", std::to_string(distance.rms));
  RecordProperty("largest", std::to_string(distance.largest));
  EXPECT_EQ(distance.num_unknown, 0);
  EXPECT_EQ(distance.num_compared, 2 * 4 * 32);
  EXPECT_LT(distance.rms, distance.bf16_rms);
  EXPECT_LT(distance.largest, distance.bf16_largest);
  EXPECT_GT(distance.rms, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaReferenceLogitsTest,
                         testing::Combine(testing::Values("tiny", "tiny-qwen3"), testing::Bool(),
                                          testing::Values("flash", "reference")),
                         [](const auto& param) {
                           std::string name = std::get<0>(param.param);
                           std::erase(name, '-');
                           return name + (std::get<1>(param.param) ? "Deterministic" : "Default") +
                                  std::get<2>(param.param);
                         });

EngineOptions Tiny(bool deterministic, const std::string& attention_backend = "flash") {
  EngineOptions options;
  options.deterministic = deterministic;
  options.attention_backend = attention_backend;
  return options;
}

Request PromptOf(int len) {
  Request request;
  for (int i = 0; i < len; ++i) request.prompt_ids.push_back((7 + 31 * i) % 32000);
  request.max_new_tokens = 24;
  request.top_logprobs = 2;
  request.cache = CacheWish::kBypass;
  return request;
}

/// Answers of requests that run together.
std::vector<Completion> RunTogether(Engine* engine, const std::vector<Request>& requests) {
  std::vector<BatchItem> items;
  for (const Request& request : requests) items.emplace_back().request = request;
  const std::atomic<bool> stop = false;
  return engine->Run(items, stop, nullptr).completions;
}

std::vector<Completion> RunCopies(Engine* engine, int n, const Request& request) {
  return RunTogether(engine, std::vector<Request>(static_cast<size_t>(n), request));
}

void ExpectSame(const Completion& a, const Completion& b) {
  EXPECT_EQ(a.token_ids, b.token_ids);
  EXPECT_EQ(a.logprobs, b.logprobs);
}

/// Deterministic mode, for each attention backend.
class CudaEngineTest : public testing::TestWithParam<const char*> {
 protected:
  EngineOptions options_ = Tiny(true, GetParam());
};

INSTANTIATE_TEST_SUITE_P(Cuda, CudaEngineTest, testing::Values("flash", "reference"),
                         [](const auto& param) { return std::string(param.param); });

TEST_P(CudaEngineTest, GraphsAndCallsGiveTheSameBits) {
  Engine graphs(options_, Gpu());
  options_.cuda_graph = false;
  Engine calls(options_, Gpu());
  for (const int n : {1, 3, 9}) {
    const std::vector<Completion> a = RunCopies(&graphs, n, PromptOf(100));
    const std::vector<Completion> b = RunCopies(&calls, n, PromptOf(100));
    for (int i = 0; i < n; ++i) ExpectSame(a[i], b[i]);
  }
}

TEST_P(CudaEngineTest, AnswersAreThoseOfARequestAlone) {
  Engine engine(options_, Gpu());
  const Completion alone = RunCopies(&engine, 1, PromptOf(100))[0];
  for (const int n : {2, 17, 100}) {
    for (const Completion& completion : RunCopies(&engine, n, PromptOf(100))) {
      ExpectSame(completion, alone);
    }
  }
  const std::vector<Completion> among =
      RunTogether(&engine, {PromptOf(7), PromptOf(100), PromptOf(900), PromptOf(33)});
  ExpectSame(among[1], alone);
}

TEST_P(CudaEngineTest, AnswersDoNotDependOnChunks) {
  options_.chunked_prefill_size = 8192;
  Engine whole(options_, Gpu());
  const Completion expected = RunCopies(&whole, 1, PromptOf(700))[0];
  EXPECT_TRUE(expected.witness.chunk_ends.empty());
  for (const int chunk : {17, 256, 257}) {
    options_.chunked_prefill_size = chunk;
    Engine engine(options_, Gpu());
    const Completion completion = RunCopies(&engine, 1, PromptOf(700))[0];
    EXPECT_FALSE(completion.witness.chunk_ends.empty());
    ExpectSame(completion, expected);
  }
}

TEST_P(CudaEngineTest, AnswersAlikeColdAndWarm) {
  for (const int page_size : {1, 16, 64}) {
    options_.page_size = page_size;
    Engine engine(options_, Gpu());
    Request request = PromptOf(300);
    const Completion cold = RunCopies(&engine, 1, request)[0];
    EXPECT_EQ(cold.witness.cached_tokens, 0);
    request.cache = CacheWish::kAllow;
    RunCopies(&engine, 1, request);
    const Completion warm = RunCopies(&engine, 1, request)[0];
    EXPECT_GT(*warm.witness.cached_tokens, 200);
    ExpectSame(warm, cold);
  }
}

TEST_P(CudaEngineTest, AnswersDoNotDependOnPreemption) {
  Engine roomy(options_, Gpu());
  const Completion expected = RunCopies(&roomy, 1, PromptOf(200))[0];
  options_.radix_cache = false;
  int preemptions = 0;
  // Three prompts fit, their answers do not.
  for (const int pool_tokens : {640, 656, 672}) {
    options_.max_total_tokens = pool_tokens;
    Engine tight(options_, Gpu());
    for (const Completion& completion : RunCopies(&tight, 3, PromptOf(200))) {
      preemptions += *completion.witness.preemptions;
      ExpectSame(completion, expected);
    }
  }
  EXPECT_GT(preemptions, 0);
}

TEST_P(CudaEngineTest, SeedsRepeatAndDiffer) {
  Engine engine(options_, Gpu());
  Request request = PromptOf(50);
  request.sampling = {.temperature = 1.0, .top_p = 0.95, .top_k = 500, .seed = 1};
  Request other = request;
  other.sampling.seed = 2;
  const Completion alone = RunCopies(&engine, 1, request)[0];
  const std::vector<Completion> together = RunTogether(&engine, {other, request, request, other});
  ExpectSame(together[1], alone);
  ExpectSame(together[2], alone);
  ExpectSame(together[0], together[3]);
  EXPECT_NE(together[0].token_ids, alone.token_ids);
}

TEST_P(CudaEngineTest, ScoresAsItDecodes) {
  Engine engine(options_, Gpu());
  const Request request = PromptOf(90);
  const Completion completion = RunCopies(&engine, 1, request)[0];
  std::vector<TokenId> ids = request.prompt_ids;
  ids.insert(ids.end(), completion.token_ids.begin(), completion.token_ids.end());
  const std::vector<TokenLogprob> scores = engine.Score(ids, 2);
  for (size_t i = 0; i < completion.logprobs.size(); ++i) {
    EXPECT_EQ(scores.at(request.prompt_ids.size() - 1 + i), completion.logprobs[i]) << i;
  }
}

TEST_P(CudaEngineTest, TellsHowTokensAreDrawn) {
  const auto is_it = [](const ManifestField& field) {
    return field.name == "engine.sampling_backend";
  };
  const Manifest cuda = Engine(options_, Gpu()).Describe();
  const Manifest cpu = Engine(Tiny(true, "cpu"), CpuDevice()).Describe();
  const auto told = std::find_if(cuda.begin(), cuda.end(), is_it);
  ASSERT_NE(told, cuda.end());
  EXPECT_EQ(told->value, std::find_if(cpu.begin(), cpu.end(), is_it)->value);
}

// The positive control: without the mode the same tests would see differences.
TEST(CudaDefaultModeTest, VariesWithTheBatch) {
  EngineOptions options = Tiny(false);
  options.model = "synthetic:qwen3-0.6b";
  Engine engine(options, Gpu());
  const Completion alone = RunCopies(&engine, 1, PromptOf(600))[0];
  bool varies = false;
  for (const int n : {2, 8, 33}) {
    for (const Completion& completion : RunCopies(&engine, n, PromptOf(600))) {
      varies = varies || completion.logprobs != alone.logprobs;
    }
  }
  EXPECT_TRUE(varies);
}

// Steps run on a stream that waits for no other.
TEST(CudaEngineStartTest, HasClearedTheCacheBeforeTheFirstStep) {
  const EngineOptions options = Tiny(true);
  const std::unique_ptr<Ops> ops = Gpu().make_ops(
      LoadModel(options).config, options, {.max_rows = 8, .max_sequences = 8, .max_logit_rows = 8});
  ops->AllocateKvCache(1 << 22);  // Gigabytes.
  EXPECT_EQ(cudaStreamQuery(cudaStreamLegacy), cudaSuccess);
}

TEST(CudaEngineStartTest, RefusesWhatItCannot) {
  EngineOptions options = Tiny(true);
  options.dtype = DType::kF32;
  EXPECT_THROW(Engine(options, Gpu()), Error);
  options = Tiny(true);
  options.attention_backend = "fa9";
  EXPECT_THROW(Engine(options, Gpu()), Error);
  options = Tiny(true);
  options.max_total_tokens = 1 << 24;
  options.model = "synthetic:qwen3-8b";  // 2.4 TB of keys and values.
  try {
    const Engine engine(options, Gpu());
    ADD_FAILURE() << "started";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDevice);
    EXPECT_THAT(error.what(), testing::MatchesRegex(
                                  "KV pool of 16777216 tokens: CUDA: out of device memory: [0-9]+ "
                                  "MiB asked for, [0-9]+ of [0-9]+ MiB free; --max-total-tokens "
                                  "makes it smaller"));
  }
}

}  // namespace
}  // namespace detcheck
