#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/embedded/cpu/det_math.h"
#include "engine/embedded/cpu/dispatch.h"
#include "engine/embedded/cuda/row_kernels.h"
#include "tests/cuda/device_array.h"
#include "tests/cuda/row_reference.h"

namespace detcheck::cuda {
namespace {

using Bits = std::vector<uint16_t>;

constexpr float kEps = 1e-6f;
constexpr int kContextLen = 64;
constexpr int kNumSlots = 40;
constexpr uint16_t kUntouched = 0x7fc1;

struct Tables {
  std::vector<float> cos;
  std::vector<float> sin;
};

Tables TablesOf(int head_dim) {
  const std::vector<double> inv_freq = cpu::RopeInvFreq(10000.0, head_dim, {});
  const size_t half = inv_freq.size();
  Tables tables = {std::vector<float>(kContextLen * half), std::vector<float>(kContextLen * half)};
  for (size_t p = 0; p < kContextLen; ++p) {
    cpu::RopeRow(inv_freq, static_cast<int64_t>(p), &tables.cos[p * half], &tables.sin[p * half]);
  }
  return tables;
}

// Everything that one call reads and writes, on the host.
struct Case {
  AttentionShape shape;
  std::vector<float> q_gain;  // Empty: no norm.
  std::vector<float> k_gain;
  Tables tables;
  std::vector<int32_t> positions;
  std::vector<int32_t> slots;
  Bits qkv;
  Bits k;
  Bits v;

  size_t head_dim() const { return static_cast<size_t>(shape.head_dim); }
  int num_rows() const { return static_cast<int>(positions.size()); }
};

Case MakeCase(const AttentionShape& shape, bool normed, int num_rows) {
  Case c;
  c.shape = shape;
  if (normed) c.q_gain = NormalValues(c.head_dim(), 0.5, 11);
  if (normed) c.k_gain = NormalValues(c.head_dim(), 0.5, 12);
  c.tables = TablesOf(shape.head_dim);
  for (int r = 0; r < num_rows; ++r) {
    c.positions.push_back((r * 7 + 3) % kContextLen);
    c.slots.push_back((r * 11 + 5) % kNumSlots);
  }
  c.qkv = NormalBf16(static_cast<size_t>(num_rows * shape.qkv_width()), 2.0, 13);
  c.k = Bits(static_cast<size_t>(shape.num_kv_heads) * kNumSlots * c.head_dim(), kUntouched);
  c.v = c.k;
  return c;
}

// What the call must make of `c`, one head after another.
Case Expected(Case c) {
  const size_t head_dim = c.head_dim();
  const auto num_q = static_cast<size_t>(c.shape.num_heads);
  const auto num_kv = static_cast<size_t>(c.shape.num_kv_heads);
  for (size_t r = 0; r < c.positions.size(); ++r) {
    const size_t table = static_cast<size_t>(c.positions[r]) * head_dim / 2;
    const auto cos = std::span<const float>(c.tables.cos).subspan(table, head_dim / 2);
    const auto sin = std::span<const float>(c.tables.sin).subspan(table, head_dim / 2);
    for (size_t h = 0; h < num_q + 2 * num_kv; ++h) {
      const auto head =
          c.qkv.begin() + static_cast<std::ptrdiff_t>((r * (num_q + 2 * num_kv) + h) * head_dim);
      const bool is_value = h >= num_q + num_kv;
      Bits result(head, head + static_cast<std::ptrdiff_t>(head_dim));
      if (!is_value) {
        result = RopeReference(result, h < num_q ? c.q_gain : c.k_gain, kEps, cos, sin);
      }
      std::copy(result.begin(), result.end(), head);
      if (h < num_q) continue;
      const size_t at = ((h - num_q) % num_kv * kNumSlots + static_cast<size_t>(c.slots[r]));
      std::copy(result.begin(), result.end(),
                (is_value ? c.v : c.k).begin() + static_cast<std::ptrdiff_t>(at * head_dim));
    }
  }
  return c;
}

void Run(Case* c) {
  const auto bf16 = [](const DeviceArray<uint16_t>& array) {
    return reinterpret_cast<__nv_bfloat16*>(array.data());
  };
  const DeviceArray<float> q_gain(c->q_gain);
  const DeviceArray<float> k_gain(c->k_gain);
  const DeviceArray<float> cos(c->tables.cos);
  const DeviceArray<float> sin(c->tables.sin);
  const DeviceArray<int32_t> positions(c->positions);
  const DeviceArray<int32_t> slots(c->slots);
  const DeviceArray<uint16_t> qkv(c->qkv);
  const DeviceArray<uint16_t> k(c->k);
  const DeviceArray<uint16_t> v(c->v);
  const Stream stream;
  RopeAndWriteKv(c->shape, {cos.data(), sin.data()}, c->q_gain.empty() ? nullptr : q_gain.data(),
                 c->k_gain.empty() ? nullptr : k_gain.data(), kEps, positions.data(), slots.data(),
                 c->num_rows(), bf16(qkv), {bf16(k), bf16(v), kNumSlots}, stream.get());
  c->qkv = qkv.Read();
  c->k = k.Read();
  c->v = v.Read();
}

void ExpectBits(const Bits& actual, const Bits& expected, const Case& c, const char* what) {
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(actual[i], expected[i])
        << what << ": head " << i / c.head_dim() << ", value " << i % c.head_dim() << " of "
        << c.head_dim() << ", " << c.shape.num_heads << " heads, " << c.shape.num_kv_heads
        << " KV heads, " << c.num_rows() << " rows: " << FloatFromBf16(actual[i]) << ", expected "
        << FloatFromBf16(expected[i]);
  }
}

void ExpectRotated(const AttentionShape& shape, bool normed, int num_rows) {
  Case actual = MakeCase(shape, normed, num_rows);
  const Case expected = Expected(actual);
  Run(&actual);
  ExpectBits(actual.qkv, expected.qkv, expected, "qkv");
  ExpectBits(actual.k, expected.k, expected, "k");
  ExpectBits(actual.v, expected.v, expected, "v");
}

TEST(CudaRope, EveryHeadWidth) {
  for (const int head_dim : {8, 16, 24, 40, 64, 72, 80, 96, 128, 192, 256}) {
    ExpectRotated({4, 2, head_dim}, false, 3);
    ExpectRotated({4, 2, head_dim}, true, 3);
  }
}

TEST(CudaRope, HeadsAndRowsOfModels) {
  for (const int num_rows : {1, 2, 33}) {
    ExpectRotated({32, 8, 128}, true, num_rows);
    ExpectRotated({9, 3, 64}, false, num_rows);
    ExpectRotated({1, 1, 128}, true, num_rows);
  }
}

TEST(CudaRope, ReferenceRotatesAsTheCpuEngine) {
  const Case c = MakeCase({1, 1, 128}, false, 1);
  const Tables& tables = c.tables;
  const size_t table = static_cast<size_t>(c.positions[0]) * 64;
  std::vector<float> head = Widened(std::span(c.qkv).first(128));
  cpu::KernelsFor(cpu::DetectSimdLevel())
      .row.rope(head.data(), &tables.cos[table], &tables.sin[table], 128, cpu::Rounding::kBf16);
  const Bits expected = Expected(c).qkv;
  EXPECT_EQ(Bits(expected.begin(), expected.begin() + 128), Bf16Bits(head));
}

TEST(CudaRope, HeadWidthsThatThereAreNot) {
  const Stream stream;
  for (const int head_dim : {12, 264}) {
    try {
      RopeAndWriteKv({4, 2, head_dim}, {}, nullptr, nullptr, kEps, nullptr, nullptr, 1, nullptr, {},
                     stream.get());
      FAIL() << head_dim;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    }
  }
}

}  // namespace
}  // namespace detcheck::cuda
