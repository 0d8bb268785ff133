#include "tests/embedded/reference_logits.h"

#include <gtest/gtest.h>

#include <tuple>

namespace detcheck {
namespace {

/// Name of the model, deterministic mode.
class ReferenceLogitsTest : public testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  LogitDistance Distance(DType dtype) const {
    EngineOptions options;
    options.deterministic = std::get<1>(GetParam());
    options.num_threads = 2;
    options.dtype = dtype;
    return DistanceToReference(std::get<0>(GetParam()), CpuDevice(), options);
  }
};

TEST_P(ReferenceLogitsTest, Bf16IsWithinItsRounding) {
  const LogitDistance distance = Distance(DType::kBf16);
  RecordProperty("rms", std::to_string(distance.rms));
  RecordProperty("largest", std::to_string(distance.largest));
  EXPECT_EQ(distance.num_unknown, 0);
  EXPECT_EQ(distance.num_compared, 2 * 4 * 32);
  EXPECT_LT(distance.rms, distance.bf16_rms);
  EXPECT_LT(distance.largest, distance.bf16_largest);
  EXPECT_GT(distance.rms, 1e-4);  // Or it was not bf16 that was tested.
}

INSTANTIATE_TEST_SUITE_P(Cpu, ReferenceLogitsTest,
                         testing::Combine(testing::Values("tiny", "tiny-qwen3"), testing::Bool()),
                         [](const auto& param) {
                           std::string name = std::get<0>(param.param);
                           std::erase(name, '-');
                           return name + (std::get<1>(param.param) ? "Deterministic" : "Default");
                         });

}  // namespace
}  // namespace detcheck
