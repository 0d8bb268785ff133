#include "engine/embedded/cpu/cpu_ops_verify.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/rng.h"
#include "engine/embedded/cpu/attention.h"
#include "engine/embedded/cpu/float_format.h"
#include "engine/embedded/cpu/gemm.h"

namespace detcheck::cpu {
namespace {

std::vector<float> RandomFloats(size_t n, uint32_t stream) {
  Rng rng(1, stream);
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(2.0 * rng.Unit() - 1.0);
  return x;
}

void RequireSameBits(const float* a, const float* b, size_t n, const std::string& what) {
  if (std::memcmp(a, b, n * sizeof(float)) != 0) {
    throw Error(ErrorCode::kDevice, "deterministic mode does not hold on this machine: " + what);
  }
}

// One product of all rows, in each weight format, and rows [first, first + num_rows) of it.
void VerifyGemm(const ModelConfig& config, const KernelTable& kernels, ThreadPool* pool) {
  constexpr int kRows = 37;
  constexpr size_t kCols = 80;  // Two panels and a half.
  const auto depth = static_cast<size_t>(std::clamp(config.hidden_size, 1, 576));
  const std::vector<float> x = RandomFloats(kRows * depth, 1);
  std::vector<uint16_t> weights;
  for (const float value : RandomFloats(kCols * depth, 2)) weights.push_back(FloatToBf16(value));
  GemmWorkspace workspace;
  std::vector<float> all;
  for (const WeightFormat format : {WeightFormat::kFloat32, WeightFormat::kBf16}) {
    PackedMatrix w(kCols, static_cast<int64_t>(depth), format);
    w.SetRowsBf16(*pool, 0, kCols, weights.data());
    std::vector<float> some(kRows * kCols);
    Gemm(kernels, *pool, x.data(), kRows, w, Rounding::kNone, some.data(), workspace);
    if (all.empty()) all = some;
    RequireSameBits(some.data(), all.data(), all.size(),
                    "a matrix product changes with the format of its weights");
    for (const auto& [first, num_rows] :
         {std::pair<size_t, size_t>{0, 1}, {36, 1}, {5, 2}, {9, 7}, {1, 15}, {0, 33}}) {
      Gemm(kernels, *pool, x.data() + first * depth, static_cast<int64_t>(num_rows), w,
           Rounding::kNone, some.data(), workspace);
      RequireSameBits(some.data(), all.data() + first * kCols, num_rows * kCols,
                      "rows of a matrix product change with their number");
    }
  }
}

// A sequence of kLength tokens with one KV head; the queries of the last kQueries are computed.
class AttentionCheck {
 public:
  AttentionCheck(const ModelConfig& config, const KernelTable& kernels, Rounding rounding,
                 ThreadPool* pool)
      : config_(OneKvHead(config)),
        kernels_(kernels),
        attention_(config_, kernels, rounding, pool),
        cache_(config_, 2 * kLength),
        qkv_(RandomFloats(static_cast<size_t>(kLength) * Width(), 3)) {
    RoundInPlace(kernels.math, rounding, qkv_.data(), static_cast<int64_t>(qkv_.size()));
    slots_.resize(kLength);
  }

  void Run() {
    const int first = kLength - kQueries;
    Place([](int p) { return p; });
    const std::vector<float> prefill = Attend(first, kQueries);
    Place([](int p) { return 2 * kLength - 1 - p; });
    for (int q = 0; q < kQueries; q += 3) {
      const std::vector<float> decode = Attend(first + q, 1);
      RequireSameBits(decode.data(), prefill.data() + static_cast<size_t>(q) * decode.size(),
                      decode.size(), "attention of a row differs between prefill and decode");
    }
  }

 private:
  static constexpr int kLength = kKeySplit + 12;
  static constexpr int kQueries = 25;

  static ModelConfig OneKvHead(ModelConfig config) {
    config.num_layers = 1;
    config.num_heads /= config.num_kv_heads;
    config.num_kv_heads = 1;
    return config;
  }
  size_t Width() const { return static_cast<size_t>(config_.qkv_width()); }

  // Writes all keys and values to the slots that `slot_of` gives their positions.
  template <typename SlotOf>
  void Place(const SlotOf& slot_of) {
    for (int p = 0; p < kLength; ++p) {
      const float* k =
          qkv_.data() + static_cast<size_t>(p) * Width() + static_cast<size_t>(config_.q_width());
      slots_[static_cast<size_t>(p)] = slot_of(p);
      kernels_.attention.write_kv(cache_.Plane(0, 0), slot_of(p), k, k + config_.head_dim);
    }
  }

  std::vector<float> Attend(int first, int num_tokens) {
    StepBatch batch;
    batch.ids.resize(static_cast<size_t>(num_tokens));
    batch.sequences.push_back({0, num_tokens, first, slots_.data()});
    StepKeys keys;
    keys.BeginStep(batch);
    attention_.BeginStep(batch, keys);
    std::vector<float> out(static_cast<size_t>(num_tokens * config_.q_width()));
    attention_.Run(&cache_, 0, qkv_.data() + static_cast<size_t>(first) * Width(), out.data());
    return out;
  }

  ModelConfig config_;
  const KernelTable& kernels_;
  SplitAttention attention_;
  KvCache cache_;
  std::vector<float> qkv_;
  std::vector<int32_t> slots_;
};

}  // namespace

void VerifyDeterminism(const ModelConfig& config, const KernelTable& kernels, Rounding rounding,
                       ThreadPool* pool) {
  VerifyGemm(config, kernels, pool);
  AttentionCheck(config, kernels, rounding, pool).Run();
}

}  // namespace detcheck::cpu
