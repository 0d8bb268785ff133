#include "tests/cuda/attention_rig.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "engine/embedded/cuda/check.h"

namespace detcheck::cuda {
namespace {

constexpr float kStale = 3e38f;  // What slots hold that belong to no sequence.

int PagesOf(int length, int page_size) {
  return (length + page_size - 1) / page_size;
}

template <typename T>
void ToDevice(const std::vector<T>& from, const DeviceBuffer& to) {
  DETCHECK_CUDA(
      cudaMemcpy(to.as<T>(), from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
}

}  // namespace

float FloatOfBits(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

uint16_t BitsOfFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

AttentionWorld::AttentionWorld(const AttentionShape& shape, const std::vector<int>& lengths,
                               uint64_t seed, int page_size)
    : shape_(shape), lengths_(lengths) {
  Rng rng(seed), page_rng(seed, 1);
  int num_pages = 3;  // Nobody's.
  for (const int length : lengths) num_pages += PagesOf(length, page_size);
  num_slots_ = num_pages * page_size;
  std::vector<int32_t> pages(Idx(num_pages));
  std::iota(pages.begin(), pages.end(), 0);
  for (int i = num_pages - 1; i > 0; --i) {
    std::swap(pages[Idx(i)], pages[Idx(page_rng.Between(0, i))]);
  }
  const size_t plane = Idx(num_slots_) * Idx(shape.head_dim);
  keys_.assign(Idx(shape.num_kv_heads) * plane, BitsOfFloat(kStale));
  values_ = keys_;
  size_t page = 0;
  for (const int length : lengths) {
    std::vector<int32_t>& slots = slots_.emplace_back();
    for (int p = 0; p < length; ++p) {
      slots.push_back(pages[page + Idx(p / page_size)] * page_size + p % page_size);
    }
    page += Idx(PagesOf(length, page_size));
    std::vector<uint16_t>& qkv = qkv_.emplace_back(Idx(length) * Idx(shape.qkv_width()));
    for (uint16_t& x : qkv)
      x = BitsOfFloat(static_cast<float>(rng.Next32()) * (5.0f * 0x1p-32f) - 2.5f);
    const size_t kv_width = Idx(shape.num_kv_heads * shape.head_dim);
    for (int p = 0; p < length; ++p) {
      const uint16_t* k =
          Qkv(static_cast<int>(slots_.size()) - 1, p) + Idx(shape.num_heads) * Idx(shape.head_dim);
      for (size_t i = 0; i < kv_width; ++i) {
        const size_t head = i / Idx(shape.head_dim), e = i % Idx(shape.head_dim);
        const size_t at = head * plane + Idx(slots[Idx(p)]) * Idx(shape.head_dim) + e;
        keys_[at] = k[i];
        values_[at] = k[kv_width + i];
      }
    }
  }
}

const uint16_t* AttentionWorld::Qkv(int sequence, int position) const {
  return qkv_[Idx(sequence)].data() + Idx(position) * Idx(shape_.qkv_width());
}

void AttentionWorld::Overwrite(int sequence, int position, float key, float value) {
  const size_t width = Idx(shape_.head_dim);
  for (int p = position; p < length(sequence); ++p) {
    for (int g = 0; g < shape_.num_kv_heads; ++g) {
      const size_t at = (Idx(g) * Idx(num_slots_) + Idx(slots(sequence)[Idx(p)])) * width;
      std::fill_n(keys_.begin() + static_cast<int64_t>(at), width, BitsOfFloat(key));
      std::fill_n(values_.begin() + static_cast<int64_t>(at), width, BitsOfFloat(value));
    }
  }
}

std::vector<double> AttentionWorld::Weighted(int sequence, int position, int head,
                                             bool absolute) const {
  const int width = shape_.head_dim;
  const int kv_head = head / shape_.group();
  const uint16_t* q = Qkv(sequence, position) + head * width;
  std::vector<double> weights;
  for (int key = 0; key <= position; ++key) {
    const uint16_t* k = Qkv(sequence, key) + (shape_.num_heads + kv_head) * width;
    double dot = 0.0;
    for (int e = 0; e < width; ++e) dot += double{FloatOfBits(q[e])} * FloatOfBits(k[e]);
    weights.push_back(dot / std::sqrt(width));
  }
  const double max = *std::max_element(weights.begin(), weights.end());
  double sum = 0.0;
  for (double& weight : weights) sum += weight = std::exp(weight - max);
  std::vector<double> out(Idx(width));
  for (int key = 0; key <= position; ++key) {
    const uint16_t* v =
        Qkv(sequence, key) + (shape_.num_heads + shape_.num_kv_heads + kv_head) * width;
    for (int e = 0; e < width; ++e) {
      const double value = FloatOfBits(v[e]);
      out[Idx(e)] += weights[Idx(key)] / sum * (absolute ? std::abs(value) : value);
    }
  }
  return out;
}

std::vector<double> AttentionWorld::Exact(int sequence, int position, int head) const {
  return Weighted(sequence, position, head, false);
}

std::vector<double> AttentionWorld::ExactScale(int sequence, int position, int head) const {
  return Weighted(sequence, position, head, true);
}

AttentionRig::AttentionRig(const std::string& backend, bool deterministic,
                           const AttentionWorld& world, const RigLimits& rig_limits)
    : world_(world) {
  const AttentionShape& shape = world.shape();
  StepLimits limits;
  limits.max_sequences = rig_limits.max_sequences;
  limits.context_len = rig_limits.context_len;
  limits.max_rows = limits.max_sequences;
  int longest = 0;
  for (int s = 0; s < world.num_sequences(); ++s) {
    limits.max_rows += world.length(s);
    longest = std::max(longest, world.length(s));
  }
  const auto rows = static_cast<size_t>(limits.max_rows);
  const auto sequences = static_cast<size_t>(limits.max_sequences);
  const size_t num_slots = sequences * static_cast<size_t>(longest);
  arena_ = std::make_unique<StepArena>(
      StepArena::Padded(rows * sizeof(int32_t)) + StepArena::Padded(sequences * sizeof(int64_t)) +
      StepArena::Padded(num_slots * sizeof(int32_t)) + AttentionArenaBytes(shape, limits));
  step_.positions = arena_->Reserve<int32_t>(limits.max_rows);
  step_.slot_offsets = arena_->Reserve<int64_t>(limits.max_sequences);
  step_.slot_table = arena_->Reserve<int32_t>(static_cast<int64_t>(num_slots));
  attention_ = MakeAttention(backend, deterministic, shape, limits, step_, arena_.get(),
                             rig_limits.most_shared_bytes);
  keys_ = DeviceBuffer(world.keys().size() * sizeof(uint16_t));
  values_ = DeviceBuffer(world.values().size() * sizeof(uint16_t));
  qkv_ = DeviceBuffer(rows * static_cast<size_t>(shape.qkv_width()) * sizeof(uint16_t));
  out_ =
      DeviceBuffer(rows * static_cast<size_t>(shape.num_heads * shape.head_dim) * sizeof(uint16_t));
  DETCHECK_CUDA(cudaMemset(qkv_.as<void>(), 0, qkv_.num_bytes()));
  UploadCache();
}

void AttentionRig::UploadCache() {
  ToDevice(world_.keys(), keys_);
  ToDevice(world_.values(), values_);
}

void AttentionRig::Prepare(const std::vector<RowRange>& ranges) {
  batch_ = {};
  std::vector<uint16_t> qkv;
  int64_t num_slots = 0;
  for (const RowRange& range : ranges) {
    const std::vector<int32_t>& slots = world_.slots(range.sequence);
    batch_.sequences.push_back({batch_.num_rows(), range.count, range.start, slots.data()});
    for (int p = range.start; p < range.start + range.count; ++p) {
      batch_.ids.push_back(0);
      batch_.positions.push_back(p);
      batch_.slots.push_back(slots[static_cast<size_t>(p)]);
      const uint16_t* row = world_.Qkv(range.sequence, p);
      qkv.insert(qkv.end(), row, row + world_.shape().qkv_width());
    }
  }
  arena_->BeginStep();
  std::copy(batch_.positions.begin(), batch_.positions.end(), step_.positions.host);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const int num_keys = ranges[i].start + ranges[i].count;
    step_.slot_offsets.host[i] = num_slots;
    std::copy_n(batch_.sequences[i].slots, num_keys, step_.slot_table.host + num_slots);
    num_slots += num_keys;
  }
  DETCHECK_CUDA(cudaMemsetAsync(out_.as<void>(), 0xff, out_.num_bytes(), stream()));
  DETCHECK_CUDA(cudaMemcpyAsync(qkv_.as<void>(), qkv.data(), qkv.size() * sizeof(uint16_t),
                                cudaMemcpyHostToDevice, stream()));
  arena_->Upload(step_.positions, batch_.num_rows(), stream());
  arena_->Upload(step_.slot_offsets, static_cast<int64_t>(ranges.size()), stream());
  arena_->Upload(step_.slot_table, num_slots, stream());
  attention_->BeginStep(batch_, stream());
  arena_->EndUploads(stream());
  stream_.Synchronize();
}

void AttentionRig::Launch(int padded_rows) {
  const KvLayer kv{keys_.as<__nv_bfloat16>(), values_.as<__nv_bfloat16>(), world_.num_slots()};
  attention_->Run(kv, qkv_.as<__nv_bfloat16>(), padded_rows, out_.as<__nv_bfloat16>(), stream());
}

RowBits AttentionRig::Result(int num_rows) {
  stream_.Synchronize();
  const AttentionShape& shape = world_.shape();
  RowBits bits(static_cast<size_t>(num_rows) *
               static_cast<size_t>(shape.num_heads * shape.head_dim));
  DETCHECK_CUDA(cudaMemcpy(bits.data(), out_.as<void>(), bits.size() * sizeof(uint16_t),
                           cudaMemcpyDeviceToHost));
  return bits;
}

std::vector<RowBits> AttentionRig::Run(const std::vector<RowRange>& ranges) {
  Prepare(ranges);
  Launch(batch_.num_rows());
  const RowBits all = Result(batch_.num_rows());
  const int64_t width = world_.shape().num_heads * world_.shape().head_dim;
  std::vector<RowBits> results;
  auto begin = all.begin();
  for (const RowRange& range : ranges) {
    results.emplace_back(begin, begin + range.count * width);
    begin += range.count * width;
  }
  return results;
}

std::string Differences(const AttentionShape& shape, int position, const uint16_t* expected,
                        const RowBits& actual) {
  const size_t head_dim = static_cast<size_t>(shape.head_dim);
  const size_t width = static_cast<size_t>(shape.num_heads) * head_dim;
  size_t num_different = 0;
  std::string text;
  for (size_t i = 0; i < actual.size(); ++i) {
    if (expected[i] == actual[i]) continue;
    if (++num_different > 4) continue;
    char line[160];
    std::snprintf(line, sizeof(line),
                  "\n  position %zu head %zu element %zu: expected %04x (%g), actual %04x (%g)",
                  static_cast<size_t>(position) + i / width, i % width / head_dim, i % head_dim,
                  expected[i], static_cast<double>(FloatOfBits(expected[i])), actual[i],
                  static_cast<double>(FloatOfBits(actual[i])));
    text += line;
  }
  if (num_different == 0) return "";
  return std::to_string(num_different) + " of " + std::to_string(actual.size()) +
         " elements differ" + text;
}

}  // namespace detcheck::cuda
