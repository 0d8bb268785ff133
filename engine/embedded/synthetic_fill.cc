#include "engine/embedded/synthetic_fill.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <thread>
#include <vector>

#include "engine/base/rng.h"
#include "engine/embedded/weights_dtype.h"

namespace detcheck {
namespace {

constexpr uint32_t kWeightsDomain = 1;  ///< Last counter word; Rng, under the same seed, has 0.
constexpr int kLanes = 16;              ///< Philox blocks computed side by side.
constexpr int kBlockElements = 4 * kLanes;
constexpr int64_t kMinElementsPerThread = int64_t{1} << 18;

using Lanes = std::array<uint32_t, kLanes>;

float ElementOf(const SyntheticTensor& tensor, uint32_t word) {
  const uint32_t pairs = (word & 0x00ff00ff) + ((word >> 8) & 0x00ff00ff);
  const auto sum = static_cast<int32_t>((pairs + (pairs >> 16)) & 0xffff);
  return tensor.base + static_cast<float>(sum - 510) * tensor.scale;
}

/// Philox4x32 of the kLanes consecutive counters from `first`, lane by lane in a form that
/// compilers vectorise: out[j][lane] is word j of counter first + lane.
void PhiloxLanes(const SyntheticTensor& tensor, uint64_t first, std::array<Lanes, 4>* out) {
  auto& [c0, c1, c2, c3] = *out;
  for (int lane = 0; lane < kLanes; ++lane) {
    c0[lane] = static_cast<uint32_t>(first + lane);
    c1[lane] = static_cast<uint32_t>((first + lane) >> 32);
    c2[lane] = tensor.index;
    c3[lane] = kWeightsDomain;
  }
  auto key0 = static_cast<uint32_t>(tensor.seed);
  auto key1 = static_cast<uint32_t>(tensor.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint64_t p0 = uint64_t{0xD2511F53} * c0[lane];
      const uint64_t p1 = uint64_t{0xCD9E8D57} * c2[lane];
      c0[lane] = static_cast<uint32_t>(p1 >> 32) ^ c1[lane] ^ key0;
      c1[lane] = static_cast<uint32_t>(p1);
      c2[lane] = static_cast<uint32_t>(p0 >> 32) ^ c3[lane] ^ key1;
      c3[lane] = static_cast<uint32_t>(p0);
    }
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
}

struct Bf16Target {
  using Element = uint16_t;
  static Element Round(float value) { return Bf16FromFloat(value); }
};
struct F16Target {
  using Element = uint16_t;
  static Element Round(float value) { return F16FromFloat(value); }
};
struct F32Target {
  using Element = float;
  static Element Round(float value) { return value; }
};

/// Elements [begin, end) of the tensor at `out` + element; `begin` is a multiple of kBlockElements.
template <typename Target>
void FillRange(const SyntheticTensor& tensor, int64_t begin, int64_t end, void* out) {
  auto* elements = static_cast<typename Target::Element*>(out);
  std::array<Lanes, 4> words;
  std::array<typename Target::Element, kBlockElements> block;
  for (int64_t i = begin; i < end; i += kBlockElements) {
    PhiloxLanes(tensor, static_cast<uint64_t>(i) / 4, &words);
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int j = 0; j < 4; ++j) {
        block[4 * lane + j] = Target::Round(ElementOf(tensor, words[j][lane]));
      }
    }
    const auto used = std::min<int64_t>(kBlockElements, end - i);
    std::copy_n(block.begin(), used, elements + i);
  }
}

void FillRange(const SyntheticTensor& tensor, int64_t begin, int64_t end, DType dtype, void* out) {
  switch (dtype) {
    case DType::kBf16:
      return FillRange<Bf16Target>(tensor, begin, end, out);
    case DType::kF16:
      return FillRange<F16Target>(tensor, begin, end, out);
    case DType::kF32:
      return FillRange<F32Target>(tensor, begin, end, out);
  }
}

}  // namespace

float SyntheticTensor::ScaleOf(double std) {
  return static_cast<float>(std / std::sqrt(21845.0));
}

float SyntheticElement(const SyntheticTensor& tensor, int64_t i) {
  const auto counter = static_cast<uint64_t>(i) / 4;
  const std::array<uint32_t, 4> words =
      Philox4x32({static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
                  tensor.index, kWeightsDomain},
                 {static_cast<uint32_t>(tensor.seed), static_cast<uint32_t>(tensor.seed >> 32)});
  return ElementOf(tensor, words[i % 4]);
}

void FillSynthetic(const SyntheticTensor& tensor, int64_t count, DType dtype, int num_threads,
                   void* out) {
  const int64_t useful_threads = std::max<int64_t>(1, count / kMinElementsPerThread);
  const auto threads = static_cast<int>(std::min<int64_t>(num_threads, useful_threads));
  const int64_t blocks = (count + kBlockElements - 1) / kBlockElements;
  const int64_t share = (blocks + threads - 1) / threads * kBlockElements;
  std::vector<std::jthread> others;
  for (int t = 1; t < threads; ++t) {
    const int64_t begin = std::min(count, t * share);
    const int64_t end = std::min(count, begin + share);
    others.emplace_back(
        [&tensor, begin, end, dtype, out] { FillRange(tensor, begin, end, dtype, out); });
  }
  FillRange(tensor, 0, std::min(count, share), dtype, out);
}

}  // namespace detcheck
