#include "engine/embedded/cpu/cpu_ops_verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"

namespace detcheck::cpu {
namespace {

using ::testing::HasSubstr;

ModelConfig Config(int num_heads, int num_kv_heads, int head_dim) {
  ModelConfig config;
  config.hidden_size = 128;
  config.num_heads = num_heads;
  config.num_kv_heads = num_kv_heads;
  config.head_dim = head_dim;
  return config;
}

const KernelTable& Kernels() {
  return KernelsFor(DetectSimdLevel());
}

// What verification says of `kernels`; empty where it is content.
std::string Complaint(const KernelTable& kernels) {
  ThreadPool pool(2);
  try {
    VerifyDeterminism(Config(4, 2, 32), kernels, Rounding::kBf16, &pool);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDevice);
    return error.what();
  }
  return "";
}

void TileOffByOneBit(const GemmTile& tile, int rows, WeightFormat format) {
  Kernels().gemm.tile(tile, rows, format);
  if (rows > 2) tile.out[0] = __builtin_nextafterf(tile.out[0], 10.0f);
}

void AttendOffByOneBit(const KvPlane& plane, const KeyPlaces& places, const QueryRows& rows,
                       int first_key, int end_key, float* scratch, float* states) {
  Kernels().attention.attend(plane, places, rows, first_key, end_key, scratch, states);
  const int last = rows.num_rows - 1;
  if (last > 5) states[last * StateSize(plane.head_dim) + 32] *= 1.0078125f;
}

TEST(VerifyDeterminismTest, HoldsAtEveryLevel) {
  ThreadPool pool(3);
  for (const SimdLevel level : AvailableLevels()) {
    for (const ModelConfig& config : {Config(4, 2, 64), Config(3, 3, 18), Config(8, 1, 128)}) {
      EXPECT_NO_THROW(VerifyDeterminism(config, KernelsFor(level), Rounding::kNone, &pool));
    }
  }
}

TEST(VerifyDeterminismTest, FindsAMatrixProductThatVaries) {
  KernelTable kernels = Kernels();
  kernels.gemm.tile = TileOffByOneBit;
  EXPECT_THAT(Complaint(kernels), HasSubstr("matrix product"));
}

TEST(VerifyDeterminismTest, FindsAnAttentionThatVaries) {
  EXPECT_EQ(Complaint(Kernels()), "");
  KernelTable kernels = Kernels();
  kernels.attention.attend = AttendOffByOneBit;
  EXPECT_THAT(Complaint(kernels), HasSubstr("attention"));
}

}  // namespace
}  // namespace detcheck::cpu
