#include "engine/embedded/engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "engine/base/error.h"
#include "engine/cuda_device.h"
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

EngineOptions Tiny(bool deterministic) {
  EngineOptions options;
  options.deterministic = deterministic;
  options.attention_backend = "flash";
  return options;
}

/// Answers of `n` equal requests that run together.
std::vector<Completion> Answers(Engine* engine, int n, int prompt_len = 100) {
  std::vector<BatchItem> items(static_cast<size_t>(n));
  for (BatchItem& item : items) {
    for (int i = 0; i < prompt_len; ++i) {
      item.request.prompt_ids.push_back((7 + 31 * i) % engine->config().vocab_size);
    }
    item.request.max_new_tokens = 24;
    item.request.top_logprobs = 2;
    item.request.cache = CacheWish::kBypass;
  }
  const std::atomic<bool> stop = false;
  return engine->Run(items, stop, nullptr).completions;
}

TEST(CudaEngineTest, GraphsAndCallsGiveTheSameBits) {
  EngineOptions options = Tiny(true);
  Engine graphs(options, Gpu());
  options.cuda_graph = false;
  Engine calls(options, Gpu());
  for (const int n : {1, 3, 9}) {
    const std::vector<Completion> a = Answers(&graphs, n);
    const std::vector<Completion> b = Answers(&calls, n);
    for (int i = 0; i < n; ++i) {
      EXPECT_EQ(a[i].token_ids, b[i].token_ids);
      EXPECT_EQ(a[i].logprobs, b[i].logprobs);
    }
  }
}

TEST(CudaEngineTest, EqualRequestsOfABatchGetEqualAnswersInDeterministicMode) {
  Engine engine(Tiny(true), Gpu());
  const Completion alone = Answers(&engine, 1)[0];
  for (const int n : {2, 17, 100}) {
    for (const Completion& completion : Answers(&engine, n)) {
      EXPECT_EQ(completion.token_ids, alone.token_ids);
      EXPECT_EQ(completion.logprobs, alone.logprobs);
    }
  }
}

TEST(CudaEngineTest, RefusesWhatItCannot) {
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
    EXPECT_NE(std::string(error.what()).find("out of device memory"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace detcheck
