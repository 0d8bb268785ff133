#include "engine/embedded/cuda/row_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/base/error.h"
#include "engine/embedded/cpu/dispatch.h"
#include "tests/cuda/device_array.h"
#include "tests/cuda/row_reference.h"

namespace detcheck::cuda {
namespace {

using Bits = std::vector<uint16_t>;

constexpr float kEps = 1e-6f;

__nv_bfloat16* Bf16(const DeviceArray<uint16_t>& array) {
  return reinterpret_cast<__nv_bfloat16*>(array.data());
}

std::span<const uint16_t> RowOf(const Bits& values, int row, int width) {
  const auto size = static_cast<size_t>(width);
  return std::span(values).subspan(static_cast<size_t>(row) * size, size);
}

void Append(std::span<const uint16_t> row, Bits* to) {
  to->insert(to->end(), row.begin(), row.end());
}

void ExpectBits(const Bits& actual, const Bits& expected, int width, const char* what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(actual[i], expected[i])
        << what << ": row " << i / static_cast<size_t>(width) << ", column "
        << i % static_cast<size_t>(width) << " of " << width << ": " << FloatFromBf16(actual[i])
        << ", expected " << FloatFromBf16(expected[i]);
  }
}

const cpu::RowKernels& CpuRows() {
  return cpu::KernelsFor(cpu::DetectSimdLevel()).row;
}

Bits CpuSum(const Bits& a, const Bits& b) {
  std::vector<float> sum(a.size());
  CpuRows().add(Widened(a).data(), Widened(b).data(), static_cast<int64_t>(a.size()),
                cpu::Rounding::kBf16, sum.data());
  return Bf16Bits(sum);
}

size_t Elements(int rows, int width) {
  return static_cast<size_t>(rows) * static_cast<size_t>(width);
}

TEST(CudaRowKernels, EmbedGathersRows) {
  for (const int width : {64, 72, 4096, 8192}) {
    const Bits table = NormalBf16(Elements(50, width), 1.0, 1);
    const std::vector<int32_t> ids = {49, 0, 7, 7, 23};
    Bits expected;
    for (const int32_t id : ids) Append(RowOf(table, id, width), &expected);
    const DeviceArray<uint16_t> device_table(table);
    const DeviceArray<int32_t> device_ids(ids);
    const DeviceArray<uint16_t> out(Bits(expected.size()));
    const Stream stream;
    Embed(Bf16(device_table), device_ids.data(), 5, width, Bf16(out), stream.get());
    ExpectBits(out.Read(), expected, width, "embedded");
  }
}

// Both results of AddRmsNorm on rows of `residual`; `delta` empty: none.
void ExpectNormalized(const Bits& residual, const Bits& delta, int num_rows, int width) {
  const std::vector<float> gain = NormalValues(static_cast<size_t>(width), 0.5, 3);
  const Bits sum = delta.empty() ? residual : CpuSum(residual, delta);
  Bits normalized;
  for (int r = 0; r < num_rows; ++r) {
    Append(RmsNormReference(RowOf(sum, r, width), gain, kEps), &normalized);
  }
  const DeviceArray<uint16_t> device_residual(residual);
  const DeviceArray<uint16_t> device_delta(delta);
  const DeviceArray<float> device_gain(gain);
  const DeviceArray<uint16_t> out(Bits(residual.size()));
  const Stream stream;
  AddRmsNorm(Bf16(device_residual), delta.empty() ? nullptr : Bf16(device_delta),
             device_gain.data(), kEps, num_rows, width, Bf16(out), stream.get());
  ExpectBits(device_residual.Read(), sum, width, "residual");
  ExpectBits(out.Read(), normalized, width, "normalised");
}

TEST(CudaRowKernels, AddRmsNormKeepsItsOrderForEveryWidth) {
  for (const int width :
       {8, 64, 72, 256, 512, 576, 1024, 2048, 2560, 4096, 4104, 5120, 8192, 8200, 16384}) {
    const Bits residual = NormalBf16(Elements(3, width), 2.0, 1);
    ExpectNormalized(residual, NormalBf16(residual.size(), 1.0, 2), 3, width);
    ExpectNormalized(residual, {}, 3, width);
  }
}

TEST(CudaRowKernels, AddRmsNormGivesARowTheSameBitsInAnyBatch) {
  const int width = 1024;
  const Bits residual = NormalBf16(Elements(300, width), 2.0, 1);
  const Bits delta = NormalBf16(residual.size(), 1.0, 2);
  for (const int num_rows : {1, 2, 128, 300}) {
    const auto size = static_cast<std::ptrdiff_t>(Elements(num_rows, width));
    ExpectNormalized(Bits(residual.begin(), residual.begin() + size),
                     Bits(delta.begin(), delta.begin() + size), num_rows, width);
  }
}

TEST(CudaRowKernels, AddRmsNormIsNearTheCpuEngines) {
  const int width = 4096;
  const Bits row = NormalBf16(Elements(1, width), 2.0, 1);
  const std::vector<float> gain = NormalValues(static_cast<size_t>(width), 0.5, 3);
  std::vector<float> expected(gain.size());
  CpuRows().rms_norm(Widened(row).data(), gain.data(), kEps, width, cpu::Rounding::kBf16,
                     expected.data());
  const std::vector<float> actual = Widened(RmsNormReference(row, gain, kEps));
  int num_differing = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], std::abs(expected[i]) * 0x1p-6f) << i;
    num_differing += actual[i] != expected[i];
  }
  EXPECT_LT(num_differing, width / 100);  // Where another order of the sum moved a rounding.
}

TEST(CudaRowKernels, RowsWiderThanAllAreRefused) {
  const Stream stream;
  try {
    AddRmsNorm(nullptr, nullptr, nullptr, kEps, 1, 16392, nullptr, stream.get());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_STREQ(error.what(), "CUDA: RMSNorm of rows of 16392 values: at most 16384");
  }
}

// Gates that overflow e^-g, that vanish and that are not numbers, beside usual ones.
Bits GateUpRows(int num_rows, int width) {
  std::vector<float> values = NormalValues(Elements(num_rows, 2 * width), 4.0, 5);
  const float infinity = std::numeric_limits<float>::infinity();
  const float odd[] = {0.0f,   -0.0f,  88.5f,  -88.5f,   -104.0f,  -200.0f,
                       200.0f, 1e-30f, -1e30f, infinity, -infinity};
  for (size_t i = 0; i < std::size(odd) && i < values.size(); ++i) values[i] = odd[i];
  return Bf16Bits(values);
}

TEST(CudaRowKernels, SiluMulHasTheCpuEnginesBits) {
  for (const auto& [num_rows, width] : {std::pair{1, 16}, {3, 72}, {5, 1536}, {2, 12288}}) {
    const Bits gate_up = GateUpRows(num_rows, width);
    Bits expected;
    for (int r = 0; r < num_rows; ++r) {
      const std::vector<float> row = Widened(RowOf(gate_up, r, 2 * width));
      std::vector<float> out(static_cast<size_t>(width));
      CpuRows().silu_mul(row.data(), row.data() + width, width, cpu::Rounding::kBf16, out.data());
      Append(Bf16Bits(out), &expected);
    }
    const DeviceArray<uint16_t> device_gate_up(gate_up);
    const DeviceArray<uint16_t> out(Bits(expected.size()));
    const Stream stream;
    SiluMul(Bf16(device_gate_up), num_rows, width, Bf16(out), stream.get());
    Bits actual = out.Read();
    for (size_t i = 0; i < actual.size(); ++i) {  // NaN: any.
      if (std::isnan(FloatFromBf16(expected[i])) && std::isnan(FloatFromBf16(actual[i]))) {
        actual[i] = expected[i];
      }
    }
    ExpectBits(actual, expected, width, "silu(gate) * up");
  }
}

TEST(CudaRowKernels, SelectRowsAddsTheRowsThatAreAskedFor) {
  for (const int width : {64, 72, 4096, 8192}) {
    const Bits residual = NormalBf16(Elements(9, width), 2.0, 1);
    const Bits delta = NormalBf16(residual.size(), 1.0, 2);
    const Bits sum = CpuSum(residual, delta);
    const std::vector<int32_t> rows = {0, 3, 8};
    Bits expected;
    for (const int32_t row : rows) Append(RowOf(sum, row, width), &expected);
    const DeviceArray<uint16_t> device_residual(residual);
    const DeviceArray<uint16_t> device_delta(delta);
    const DeviceArray<int32_t> device_rows(rows);
    const DeviceArray<uint16_t> out(Bits(expected.size()));
    const Stream stream;
    SelectRows(Bf16(device_residual), Bf16(device_delta), device_rows.data(), 3, width, Bf16(out),
               stream.get());
    ExpectBits(out.Read(), expected, width, "selected");
  }
}

TEST(CudaRowKernels, NoRowsNoLaunch) {
  const Stream stream;
  Embed(nullptr, nullptr, 0, 64, nullptr, stream.get());
  AddRmsNorm(nullptr, nullptr, nullptr, kEps, 0, 64, nullptr, stream.get());
  RopeAndWriteKv({2, 1, 64}, {}, nullptr, nullptr, kEps, nullptr, nullptr, 0, nullptr, {},
                 stream.get());
  SiluMul(nullptr, 0, 64, nullptr, stream.get());
  SelectRows(nullptr, nullptr, nullptr, 0, 64, nullptr, stream.get());
  stream.Synchronize();
}

}  // namespace
}  // namespace detcheck::cuda
