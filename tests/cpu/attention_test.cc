#include "engine/embedded/cpu/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "engine/base/rng.h"

namespace detcheck::cpu {
namespace {

ModelConfig Shape(int num_heads, int num_kv_heads, int head_dim, DType dtype) {
  ModelConfig config;
  config.num_layers = 2;
  config.num_heads = num_heads;
  config.num_kv_heads = num_kv_heads;
  config.head_dim = head_dim;
  config.dtype = dtype;
  return config;
}

Rounding RoundingFor(DType dtype) {
  if (dtype == DType::kBf16) return Rounding::kBf16;
  return dtype == DType::kF16 ? Rounding::kF16 : Rounding::kNone;
}

// How a sequence is computed: in which chunks, with its keys in which slots.
struct Schedule {
  std::vector<int> chunks;  // Their sum is the length.
  int page_size = 16;
  uint64_t placement_seed = 0;  // 0: slots in order.
  int num_threads = 1;
  SimdLevel level = SimdLevel::kBaseline;
};

// A sequence's projected queries, keys and values, [length, qkv_width].
class AttentionCase {
 public:
  AttentionCase(const ModelConfig& config, int length, uint64_t seed)
      : config_(config), length_(length), qkv_(Size(config.qkv_width())) {
    Rng rng(seed);
    for (float& x : qkv_) x = static_cast<float>(4.0 * rng.Unit() - 2.0);
    RoundInPlace(KernelsFor(SimdLevel::kBaseline).math, RoundingFor(config.dtype), qkv_.data(),
                 static_cast<int64_t>(qkv_.size()));
  }

  // Attention of layer 1, with a neighbour of other content in front of every chunk.
  std::vector<float> Run(const Schedule& schedule, int neighbour_len = 0) const {
    const KernelTable& kernels = KernelsFor(schedule.level);
    ThreadPool pool(schedule.num_threads);
    KvCache cache(config_, 2 * (length_ + neighbour_len + 2 * schedule.page_size));
    SplitAttention attention(config_, kernels, RoundingFor(config_.dtype), &pool);
    const std::vector<int32_t> slots = Slots(schedule);
    const std::vector<int32_t> other = NeighbourSlots(slots, neighbour_len);
    std::vector<float> out(Size(config_.q_width()));
    int start = 0;
    for (const int chunk : schedule.chunks) {
      StepBatch batch;
      batch.sequences.reserve(2);
      const int before = start == 0 ? neighbour_len : std::min(neighbour_len, 1);
      if (before > 0) batch.sequences.push_back({0, before, neighbour_len - before, other.data()});
      batch.sequences.push_back({before, chunk, start, slots.data()});
      const size_t num_rows = Idx(before) + Idx(chunk);
      batch.ids.resize(num_rows);
      const std::vector<float> rows = Write(kernels, batch, start, &cache);
      StepKeys keys;
      keys.BeginStep(batch);
      attention.BeginStep(batch, keys);
      std::vector<float> step_out(num_rows * Idx(config_.q_width()));
      attention.Run(&cache, 1, rows.data(), step_out.data());
      std::copy(step_out.begin() + before * config_.q_width(), step_out.end(),
                out.begin() + start * config_.q_width());
      start += chunk;
    }
    return out;
  }

  // In double, in no particular order.
  std::vector<double> Reference() const {
    const int group = config_.num_heads / config_.num_kv_heads;
    std::vector<double> out(Size(config_.q_width()));
    for (int p = 0; p < length_; ++p) {
      for (int h = 0; h < config_.num_heads; ++h) {
        std::vector<double> weights;
        for (int key = 0; key <= p; ++key) weights.push_back(Dot(p, h, key, h / group));
        const double max = *std::max_element(weights.begin(), weights.end());
        for (double& w : weights) w = std::exp(w - max);
        const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
        for (int e = 0; e < config_.head_dim; ++e) {
          double y = 0.0;
          for (int key = 0; key <= p; ++key) y += weights[Idx(key)] / sum * V(key, h / group, e);
          out[Idx(p * config_.q_width() + h * config_.head_dim + e)] = y;
        }
      }
    }
    return out;
  }

 private:
  static size_t Idx(int i) { return static_cast<size_t>(i); }
  size_t Size(int width) const { return static_cast<size_t>(length_) * Idx(width); }
  float At(int row, int col) const { return qkv_[Idx(row * config_.qkv_width() + col)]; }
  double V(int key, int kv_head, int e) const {
    return At(key, config_.q_width() + config_.kv_width() + kv_head * config_.head_dim + e);
  }
  double Dot(int p, int head, int key, int kv_head) const {
    double dot = 0.0;
    for (int e = 0; e < config_.head_dim; ++e) {
      dot += static_cast<double>(At(p, head * config_.head_dim + e)) *
             static_cast<double>(At(key, config_.q_width() + kv_head * config_.head_dim + e));
    }
    return dot / std::sqrt(static_cast<double>(config_.head_dim));
  }

  std::vector<int32_t> Slots(const Schedule& schedule) const {
    const int num_pages = (length_ + schedule.page_size - 1) / schedule.page_size + 1;
    std::vector<int32_t> pages(Idx(num_pages));
    std::iota(pages.begin(), pages.end(), 0);
    Rng rng(schedule.placement_seed);
    for (int i = num_pages - 1; i > 0 && schedule.placement_seed != 0; --i) {
      std::swap(pages[Idx(i)], pages[Idx(rng.Between(0, i))]);
    }
    std::vector<int32_t> slots;
    slots.reserve(Idx(length_));
    for (int p = 0; p < length_; ++p) {
      slots.push_back(pages[Idx(p / schedule.page_size)] * schedule.page_size +
                      p % schedule.page_size);
    }
    return slots;
  }

  static std::vector<int32_t> NeighbourSlots(const std::vector<int32_t>& slots, int count) {
    std::vector<int32_t> other(Idx(count));
    std::iota(other.begin(), other.end(), *std::max_element(slots.begin(), slots.end()) + 1);
    return other;
  }

  // The step's qkv rows; keys and values are written to the cache. The neighbour's are this
  // sequence's own rows, the other way round and negated.
  std::vector<float> Write(const KernelTable& kernels, const StepBatch& batch, int start,
                           KvCache* cache) const {
    std::vector<float> rows;
    for (const SequenceSlice& slice : batch.sequences) {
      const bool subject = &slice == &batch.sequences.back();
      for (int t = 0; t < slice.num_tokens; ++t) {
        const int position = slice.start_pos + t;
        const int from = subject ? start + t : (length_ - 1 - position % length_);
        for (int i = 0; i < config_.qkv_width(); ++i) {
          rows.push_back(subject ? At(from, i) : -At(from, i));
        }
        const float* row = rows.data() + rows.size() - Idx(config_.qkv_width());
        for (int g = 0; g < config_.num_kv_heads; ++g) {
          const float* k = row + config_.q_width() + g * config_.head_dim;
          kernels.attention.write_kv(cache->Plane(1, g), slice.slots[position], k,
                                     k + config_.kv_width());
        }
      }
    }
    return rows;
  }

  ModelConfig config_;
  int length_;
  std::vector<float> qkv_;
};

std::vector<int> Decode(int length) {
  return std::vector<int>(static_cast<size_t>(length), 1);
}

std::vector<int> RandomChunks(int length, uint64_t seed) {
  Rng rng(seed);
  std::vector<int> chunks;
  for (int left = length; left > 0; left -= chunks.back()) {
    chunks.push_back(std::min(left, rng.Between(1, 200)));
  }
  return chunks;
}

void ExpectSameBits(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(a[i]), std::bit_cast<uint32_t>(b[i])) << "at " << i;
  }
}

Schedule Whole(int length) {
  return {.chunks = {length}};
}

TEST(SplitAttentionTest, AgreesWithDoubleReference) {
  for (const auto& [config, tolerance] : {std::pair{Shape(4, 2, 64, DType::kF32), 2e-6},
                                          {Shape(3, 1, 24, DType::kF32), 2e-6},
                                          {Shape(2, 2, 16, DType::kF16), 1e-3},
                                          {Shape(4, 1, 128, DType::kBf16), 8e-3}}) {
    const AttentionCase c(config, 600, 1);
    const std::vector<double> expected = c.Reference();
    Schedule schedule = Whole(600);
    schedule.level = DetectSimdLevel();
    const std::vector<float> actual = c.Run(schedule);
    for (size_t i = 0; i < actual.size(); ++i) {
      ASSERT_NEAR(actual[i], expected[i], tolerance) << "head_dim " << config.head_dim;
    }
  }
}

TEST(SplitAttentionTest, DecodeEqualsPrefillEqualsAnyChunking) {
  for (const ModelConfig& config : {Shape(4, 2, 64, DType::kBf16), Shape(3, 1, 18, DType::kF32),
                                    Shape(6, 1, 128, DType::kF16), Shape(2, 2, 16, DType::kBf16)}) {
    const int length = 1100;  // Three splits.
    const AttentionCase c(config, length, 2);
    Schedule schedule = Whole(length);
    schedule.level = DetectSimdLevel();
    const std::vector<float> prefill = c.Run(schedule);
    schedule.chunks = Decode(length);
    ExpectSameBits(c.Run(schedule), prefill);
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      schedule.chunks = RandomChunks(length, seed);
      schedule.num_threads = 1 + static_cast<int>(seed);
      ExpectSameBits(c.Run(schedule), prefill);
    }
  }
}

TEST(SplitAttentionTest, PlacementOfKeysDoesNotMatter) {
  const int length = 600;
  const AttentionCase c(Shape(4, 2, 32, DType::kBf16), length, 3);
  Schedule schedule = Whole(length);
  schedule.level = DetectSimdLevel();
  const std::vector<float> expected = c.Run(schedule);
  for (const int page_size : {1, 3, 8, 16, 17, 32, 64}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      schedule.page_size = page_size;
      schedule.placement_seed = seed;
      schedule.chunks = RandomChunks(length, seed);
      ExpectSameBits(c.Run(schedule), expected);
    }
  }
}

TEST(SplitAttentionTest, LevelsAndThreadsGiveTheSameBits) {
  const int length = 530;
  for (const DType dtype : {DType::kBf16, DType::kF16, DType::kF32}) {
    const AttentionCase c(Shape(4, 2, 40, dtype), length, 4);
    const std::vector<float> expected = c.Run(Whole(length));
    for (const SimdLevel level : AvailableLevels()) {
      const int most_threads = level == SimdLevel::kBaseline ? 2 : 8;  // It is slow.
      for (int num_threads = 1; num_threads <= most_threads; ++num_threads) {
        Schedule schedule = Whole(length);
        schedule.level = level;
        schedule.num_threads = num_threads;
        if (num_threads % 2 == 0) schedule.chunks = {500, 30};
        ExpectSameBits(c.Run(schedule), expected);
      }
    }
  }
}

TEST(SplitAttentionTest, NeighboursDoNotMatter) {
  const int length = 90;
  const AttentionCase c(Shape(6, 2, 64, DType::kBf16), length, 5);
  Schedule schedule = Whole(length);
  schedule.level = DetectSimdLevel();
  const std::vector<float> alone = c.Run(schedule);
  for (const int neighbour_len : {1, 5, 64, 700}) {
    schedule.chunks = Decode(length);
    ExpectSameBits(c.Run(schedule, neighbour_len), alone);
    schedule.chunks = {33, 57};
    schedule.num_threads = 3;
    ExpectSameBits(c.Run(schedule, neighbour_len), alone);
  }
}

}  // namespace
}  // namespace detcheck::cpu
